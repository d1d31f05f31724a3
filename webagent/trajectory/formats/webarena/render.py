"""WebArena's `render_<id>.html`, read as text and never as HTML.

The writer puts page text into the file as it is: `</pre>`, `<script>` and `</body>` of a visited
site stand there unescaped. So nothing here looks at tags that a page could have written within
one line; what is looked for are the writer's own lines, line breaks included. At each step
the writer also reads its file back up to the first `</body>`: a page that holds one cuts its step
short, and the next one follows at once.
"""

import ast
import re
from dataclasses import dataclass
from typing import Any

_PRE, _PRE_END = "<pre>", "</pre>\n"
_STEP = re.compile(r"<h2>New Page</h2>\n<h3 class='url'><a href=")
_URL = re.compile(r"[^\n]*?>URL: (?P<url>[^\n]*)</a></h3>\n")
_OBSERVATION = "<div class='state_obv'><pre>"
_AFTER_OBSERVATION = re.compile(
    r"</pre><div>\n"
    r"(?:<img src='data:image/[a-z]+;(?:base64,(?P<picture>[A-Za-z0-9+/=]*)"
    r"|kept,(?P<kept>[0-9a-f]{64}))'[^>\n]*/>\n)?"
    r"<div class='prev_action' style='background-color:pink'>"
)
_PREDICTED = "</div>\n<div class='predict_action'>"
_GREY = " style='background-color:grey'><pre>"
_RAW = f"<div class='raw_parsed_prediction'{_GREY}"
_OBJECT = f"</pre></div><div class='action_object'{_GREY}"
_PARSED = "</pre></div><div class='parsed_action' style='background-color:yellow'><pre>"
_STEP_END = "</pre></div></div>"
_CONFIG_LINE = re.compile(r"^([a-z][a-z_]{0,40}): ", re.MULTILINE)
_MOST_LITERAL = 500_000
_TEXT_KEYS = frozenset(("intent", "intent_template", "start_url", "storage_state", "geolocation"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedStep:
    """One step as it stands in the file. None: cut off, or not written with these settings."""

    url: str | None
    observation: str
    whole: bool
    picture: str | None = None
    """Base64 of a PNG."""
    kept: str | None = None
    """Its hash, in files that were kept without their pictures."""
    prediction: str | None = None
    """Thought and action as the model wrote them."""
    action_object: str | None = None
    """Python's repr of the harness's own action."""
    parsed: str | None = None
    """The action as the harness understood it."""


@dataclass(frozen=True, slots=True)
class Rendered:
    config: dict[str, Any]
    steps: tuple[RenderedStep, ...]


def is_render(head: str) -> bool:
    """Whether the first characters of a file are those of a render file."""
    return head.lstrip().startswith("<!DOCTYPE html>\n<head>") and "<pre>" in head


def read_render(text: str, most_steps: int) -> Rendered:
    """The task and the steps in a render file.

    Raises:
        ValueError: the file holds no task, or more than `most_steps` steps.
    """
    text = text.replace("\r\n", "\n")
    marks = []
    for mark in _STEP.finditer(text):
        marks.append(mark)
        if len(marks) > most_steps:
            raise ValueError(f"more than {most_steps} steps")
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    config = read_config(text[: marks[0].start()] if marks else text)
    # Without a mark there is one end too many.
    steps = (_step(text[mark.end() : end]) for mark, end in zip(marks, ends, strict=False))
    return Rendered(config, tuple(steps))


def read_config(head: str) -> dict[str, Any]:
    """The task's configuration: lines `key: value`, each value as Python prints it.

    Raises:
        ValueError: there is none.
    """
    start = head.find(_PRE)
    end = head.rfind(_PRE_END)
    block = head[start + len(_PRE) : end if end > start else len(head)]
    found: dict[str, Any] = {}
    keys = list(_CONFIG_LINE.finditer(block)) if start >= 0 else []
    for key, following in zip(keys, [*keys[1:], None], strict=True):
        value = block[key.end() : following.start() if following else len(block)]
        found.setdefault(key[1], _value(key[1], value.removesuffix("\n")))
    if "task_id" not in found:
        raise ValueError("no task_id in its first block")
    return found


def _value(key: str, printed: str) -> Any:
    """Text stays text: an intent may look like a number, and may go over several lines."""
    if printed == "None":
        return None
    if key in _TEXT_KEYS or len(printed) > _MOST_LITERAL:
        return printed
    try:
        return ast.literal_eval(printed)  # literals only: it calls and imports nothing
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return printed


def _step(chunk: str) -> RenderedStep:
    url = _URL.match(chunk)
    _, opened, rest = chunk.partition(_OBSERVATION)
    after = _AFTER_OBSERVATION.search(rest) if opened else None
    address = url["url"] if url else None
    if after is None:
        return RenderedStep(url=address, observation=rest.rstrip(), whole=False)
    _, predicted, action = rest[after.end() :].partition(_PREDICTED)
    prediction, action_object, parsed, whole = _action(action)
    return RenderedStep(
        url=address,
        observation=rest[: after.start()],
        picture=after["picture"],
        kept=after["kept"],
        prediction=prediction,
        action_object=action_object,
        parsed=parsed,
        whole=bool(predicted) and whole,
    )


def _action(text: str) -> tuple[str | None, str | None, str | None, bool]:
    """Prediction, action object and parsed action; the last of each mark is the writer's own."""
    end = text.rfind(_STEP_END)
    if not text.startswith(_RAW):
        # The runner's mode for Playwright code writes nothing but the code.
        code, closed, _ = text.partition("</div>\n")
        return None, None, code or None, bool(closed)
    body = text[len(_RAW) : end if end >= 0 else len(text)]
    body, has_parsed, parsed = body.rpartition(_PARSED) if _PARSED in body else (body, "", "")
    prediction, has_object, action_object = (
        body.rpartition(_OBJECT) if _OBJECT in body else (body, "", "")
    )
    return (
        prediction,
        action_object if has_object else None,
        parsed if has_parsed else None,
        bool(has_parsed) and end >= 0,
    )
