"""WebArena's `render_<id>.html`, read as text and never as HTML, and the actions in it.

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

from pydantic import JsonValue

from webagent.trajectory.files.assembling import TARGET_CHARS
from webagent.trajectory.records import ActionRecord, Target

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


_TABS = re.compile(r"\ATab \d++[^\n]*+\n\n?")
_TAB = re.compile(r"Tab (\d+)( \(current\))?: ")
_TAB_SEPARATOR = " | "
_MOST_TABS = 100


def tab_titles(observation: str) -> list[tuple[str, bool]]:
    """The tabs' titles in an observation's first line, and which one is in front."""
    head = _TABS.match(observation)
    line = head[0].strip() if head else ""
    marks = list(_TAB.finditer(line))[:_MOST_TABS]
    ends = [*(mark.start() for mark in marks[1:]), len(line)]
    return [
        (line[mark.end() : end].removesuffix(_TAB_SEPARATOR), bool(mark[2]))
        # Without a mark there is one end too many.
        for mark, end in zip(marks, ends, strict=False)
    ]


_DIALECT = "webarena"
_UNREADABLE = "none"
"""What the harness does with an answer in which it finds no action: nothing."""
_EARLY_STOP = "Early stop: "
_FENCED = re.compile(r"```(?:[a-z]*\n)?((?:.|\n)*?)```")
_NAME = re.compile(r"\s*([a-z_]{1,40})\b\s*", re.IGNORECASE)
_TYPE = re.compile(r"\[([^\[\]]{0,100})\]\s*\[((?:.|\n)*?)\](?:\s*\[([01])\])?\s*\Z")
_FIRST = re.compile(r"\[([^\[\]]{0,100})\]")
_WHERE = " where ["
_NODE = re.compile(r"(?:\[[^\]\n]{0,100}\] )?([A-Za-z]{1,60})(?: '([^'\n]*)'| \"([^\"\n]*)\")?")
_ON_ELEMENT = frozenset(("click", "hover", "type"))


def _written(prediction: str | None) -> str | None:
    """What stands between the back-ticks of a prediction, where the agent put its action."""
    found = _FENCED.findall(prediction or "")
    return found[-1].strip() or None if found else None


def read_action(prediction: str | None, parsed: str | None) -> ActionRecord | None:
    """The action of a step: verbatim as the agent wrote it, and as the harness took it.

    Args:
        parsed: the harness's own words for it, such as `click [51] where [51] is [51] link 'A'`.
    """
    understood, has_node, node = (parsed or "").strip().partition(_WHERE)
    raw = _written(prediction) or understood or (prediction or "").strip()
    if not raw:
        return None
    if understood == _UNREADABLE:
        return ActionRecord(
            raw=raw,
            dialect=_DIALECT,
            name=_UNREADABLE,
            status="error",
            error="The harness found no action in the answer.",
        )
    name, args = call(understood or raw)
    return ActionRecord(
        raw=raw,
        dialect=_DIALECT,
        name=name,
        args=args,
        target=_target(name, args, node.partition("] is ")[2] if has_node else ""),
    )


def call(text: str) -> tuple[str | None, tuple[JsonValue, ...]]:
    """Name and arguments of an action in this grammar; no name if it is none."""
    name = _NAME.match(text)
    if name is None:
        return None, ()
    rest = text[name.end() :].strip()
    word = name[1].lower()
    if word == "type" and (typed := _TYPE.match(rest)):
        return word, tuple(part for part in typed.groups() if part is not None)
    if rest.startswith("[") and rest.endswith("]"):
        return word, (rest[1:-1],)
    first = _FIRST.match(rest)
    return word, (first[1],) if first else ()


def stop_answer(action: ActionRecord | None) -> str | None:
    """What the agent answered with `stop [answer]`; None if the harness stopped it, or nobody."""
    if action is None or action.name != "stop" or early_stop(action):
        return None
    answer = action.args[0] if action.args else None
    return answer if isinstance(answer, str) and answer else None


def early_stop(action: ActionRecord | None) -> str | None:
    """Why the harness stopped the run, if it did: it writes a `stop` of its own."""
    if action is None or action.name != "stop" or not action.args:
        return None
    answer = action.args[0]
    if isinstance(answer, str) and answer.startswith(_EARLY_STOP):
        return answer.removeprefix(_EARLY_STOP)
    return None


def _target(name: str | None, args: tuple[JsonValue, ...], node: str) -> Target | None:
    if name not in _ON_ELEMENT or not args or not isinstance(args[0], str):
        return None
    found = _NODE.match(node)
    words = (found[2] or found[3] or "") if found else ""
    return Target(
        bid=args[0][:100], role=found[1] if found else None, text=words[:TARGET_CHARS] or None
    )
