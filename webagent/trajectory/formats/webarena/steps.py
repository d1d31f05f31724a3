"""Steps of a render file as records."""

import re
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from webagent.trajectory.actions import typed_password
from webagent.trajectory.files.assembling import TARGET_CHARS, URL_CHARS, RunFiles
from webagent.trajectory.files.originals import kept_picture
from webagent.trajectory.formats.webarena.render import RenderedStep
from webagent.trajectory.records import ActionRecord, Observation, StepRecord, TabRecord, Target
from webagent.trajectory.values import not_none

_TABS = re.compile(r"\ATab \d++[^\n]*+\n\n?")
_TAB = re.compile(r"Tab (\d+)( \(current\))?: ")
_TAB_SEPARATOR = " | "
_MOST_TABS = 100


def step_records(
    files: RunFiles, steps: Sequence[RenderedStep], where: str, folder: str
) -> Iterator[StepRecord]:
    """Each step with what was seen before it, thought and done.

    Args:
        folder: of the render file, where pictures lie that were kept apart from it.
    """
    actions = [read_action(step.prediction, step.parsed) for step in steps]
    for secret in (word for action in actions if action for word in typed_password(action)):
        files.redactor.learn(secret)
    has_pictures = any(step.picture or step.kept for step in steps)
    if steps and not has_pictures:
        files.note("screenshot", where, "the runner was not told to render screenshots")
    for index, (step, action) in enumerate(zip(steps, actions, strict=True)):
        place = f"{where}#{index}"
        if not step.whole:
            files.note("step", place, "cut short by the page's own text, or not written to its end")
        elif has_pictures and not (step.picture or step.kept):
            files.inventory.miss("screenshot", place)
        picture = kept_picture(files, folder, step.kept) if step.kept else None
        if step.picture:
            data = f"data:image/png;base64,{step.picture}"
            picture = files.embedded_picture(data, "screenshot", place)
        seen = _observation(files, step, place).model_copy(update={"screenshot": picture})
        yield _step(files, step, action, index, seen)


def _step(
    files: RunFiles, step: RenderedStep, action: ActionRecord | None, index: int, seen: Observation
) -> StepRecord:
    extra = {
        "parsed_action": files.clean(step.parsed),
        "action_object": files.clean(step.action_object),
        "by_harness": early_stop(action) is not None or None,
    }
    return StepRecord(
        run_id=files.run_id,
        index=index,
        source_index=index,
        before=seen,
        thought=files.clean(step.prediction),
        actions=(_cleaned(files, action),) if action else (),
        extra=not_none(extra) or None,
    )


def _cleaned(files: RunFiles, action: ActionRecord) -> ActionRecord:
    args = tuple(files.clean_json(arg) for arg in action.args)
    return action.model_copy(update={"raw": files.clean_json(action.raw), "args": args})


def _observation(files: RunFiles, step: RenderedStep, place: str) -> Observation:
    head = _TABS.match(step.observation)
    titles = _titles(head[0].strip()) if head else []
    url = files.clean(step.url, URL_CHARS)
    current = next((title for title, active in titles if active), None)
    tree = files.clean(step.observation, files.bounds.blob_bytes)
    return Observation(
        url=url,
        title=files.clean(current, URL_CHARS),
        # Only the current tab's address is known.
        tabs=tuple(
            TabRecord(url=url or "", title=files.clean(title, URL_CHARS), active=active)
            for title, active in titles
            if active
        ),
        a11y_tree=files.text_blob(tree, "a11y_tree", f"{place}/tree.txt", "text/plain")
        if tree
        else None,
        extra={"tabs": [files.clean(title, URL_CHARS) for title, _ in titles]}
        if len(titles) > 1
        else None,
    )


def _titles(line: str) -> list[tuple[str, bool]]:
    """The tabs' titles in the first line, and which one is in front."""
    marks = list(_TAB.finditer(line))[:_MOST_TABS]
    ends = [*(mark.start() for mark in marks[1:]), len(line)]
    return [
        (line[mark.end() : end].removesuffix(_TAB_SEPARATOR), bool(mark[2]))
        # Without a mark there is one end too many.
        for mark, end in zip(marks, ends, strict=False)
    ]


DIALECT = "webarena"
UNREADABLE = "none"
"""What the harness does with an answer in which it finds no action: nothing."""
EARLY_STOP = "Early stop: "

_FENCED = re.compile(r"```(?:[a-z]*\n)?((?:.|\n)*?)```")
_NAME = re.compile(r"\s*([a-z_]{1,40})\b\s*", re.IGNORECASE)
_TYPE = re.compile(r"\[([^\[\]]{0,100})\]\s*\[((?:.|\n)*?)\](?:\s*\[([01])\])?\s*\Z")
_FIRST = re.compile(r"\[([^\[\]]{0,100})\]")
_WHERE = " where ["
_NODE = re.compile(r"(?:\[[^\]\n]{0,100}\] )?([A-Za-z]{1,60})(?: '([^'\n]*)'| \"([^\"\n]*)\")?")
_ON_ELEMENT = frozenset(("click", "hover", "type"))


def written_action(prediction: str | None) -> str | None:
    """What stands between the back-ticks of a prediction, where the agent put its action."""
    found = _FENCED.findall(prediction or "")
    return found[-1].strip() or None if found else None


def read_action(prediction: str | None, parsed: str | None) -> ActionRecord | None:
    """The action of a step: verbatim as the agent wrote it, and as the harness took it.

    Args:
        parsed: the harness's own words for it, such as `click [51] where [51] is [51] link 'A'`.
    """
    understood, has_node, node = (parsed or "").strip().partition(_WHERE)
    raw = written_action(prediction) or understood or (prediction or "").strip()
    if not raw:
        return None
    if understood == UNREADABLE:
        return ActionRecord(
            raw=raw,
            dialect=DIALECT,
            name=UNREADABLE,
            status="error",
            error="The harness found no action in the answer.",
        )
    name, args = call(understood or raw)
    return ActionRecord(
        raw=raw,
        dialect=DIALECT,
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
    if isinstance(answer, str) and answer.startswith(EARLY_STOP):
        return answer.removeprefix(EARLY_STOP)
    return None


def _target(name: str | None, args: tuple[JsonValue, ...], node: str) -> Target | None:
    if name not in _ON_ELEMENT or not args or not isinstance(args[0], str):
        return None
    found = _NODE.match(node)
    words = (found[2] or found[3] or "") if found else ""
    return Target(
        bid=args[0][:100], role=found[1] if found else None, text=words[:TARGET_CHARS] or None
    )
