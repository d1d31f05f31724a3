"""Steps of a render file as records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from webagent.trajectory.assembling import URL_CHARS, clean, clean_json
from webagent.trajectory.records import (
    ActionRecord,
    BlobRecord,
    Observation,
    StepRecord,
    TabRecord,
)
from webagent.trajectory.redaction import is_password_field
from webagent.trajectory.run_files import RunFiles
from webagent.trajectory.webarena.actions import early_stop, read_action
from webagent.trajectory.webarena.render import RenderedStep

_TABS = re.compile(r"\ATab \d++[^\n]*+\n\n?")
_TAB = re.compile(r"Tab (\d+)( \(current\))?: ")
_TAB_SEPARATOR = " | "
_MOST_TABS = 100


def step_records(
    files: RunFiles,
    steps: Sequence[RenderedStep],
    run_id: str,
    where: str,
    kept: Callable[[str], BlobRecord | None],
) -> Iterator[StepRecord]:
    """Each step with what was seen before it, thought and done.

    Args:
        kept: the picture of a hash, for files that were kept without their pictures.
    """
    actions = [read_action(step.prediction, step.parsed) for step in steps]
    for action in actions:
        _learn_password(files, action)
    has_pictures = any(step.picture or step.kept for step in steps)
    if steps and not has_pictures:
        files.note("screenshot", where, "the runner was not told to render screenshots")
    for index, (step, action) in enumerate(zip(steps, actions, strict=True)):
        place = f"{where}#{index}"
        if not step.whole:
            files.note("step", place, "cut short by the page's own text, or not written to its end")
        elif has_pictures and not (step.picture or step.kept):
            files.inventory.miss("screenshot", place)
        picture = kept(step.kept) if step.kept else None
        if step.picture:
            data = f"data:image/png;base64,{step.picture}"
            picture = files.embedded_picture(data, "screenshot", place)
        seen = _observation(files, step, place).model_copy(update={"screenshot": picture})
        yield _step(files, step, action, run_id, index, seen)


def _step(
    files: RunFiles,
    step: RenderedStep,
    action: ActionRecord | None,
    run_id: str,
    index: int,
    seen: Observation,
) -> StepRecord:
    by_harness = early_stop(action) is not None
    extra = {
        "parsed_action": clean(files, step.parsed),
        "action_object": clean(files, step.action_object),
        "by_harness": by_harness or None,
    }
    return StepRecord(
        run_id=run_id,
        index=index,
        source_index=index,
        before=seen,
        thought=clean(files, step.prediction),
        actions=(_cleaned(files, action),) if action else (),
        extra={key: value for key, value in extra.items() if value is not None} or None,
    )


def _cleaned(files: RunFiles, action: ActionRecord) -> ActionRecord:
    """The action without secrets."""
    changes: dict[str, Any] = {
        "raw": clean_json(files, action.raw),
        "args": tuple(clean_json(files, arg) for arg in action.args),
    }
    return action.model_copy(update=changes)


def _observation(files: RunFiles, step: RenderedStep, place: str) -> Observation:
    head = _TABS.match(step.observation)
    titles = _titles(head[0].strip()) if head else []
    url = clean(files, step.url, URL_CHARS)
    current = next((title for title, active in titles if active), None)
    tree = clean(files, step.observation, files.bounds.blob_bytes)
    return Observation(
        url=url,
        title=clean(files, current, URL_CHARS),
        # Only the current tab's address is known.
        tabs=tuple(
            TabRecord(url=url or "", title=clean(files, title, URL_CHARS), active=active)
            for title, active in titles
            if active
        ),
        a11y_tree=files.text_blob(tree, "a11y_tree", f"{place}/tree.txt", "text/plain")
        if tree
        else None,
        extra={"tabs": [clean(files, title, URL_CHARS) for title, _ in titles]}
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


def _learn_password(files: RunFiles, action: ActionRecord | None) -> None:
    """What is typed into a password field is taken out wherever it stands."""
    if action is None or action.name != "type" or action.target is None:
        return
    if is_password_field(action.target.text) and len(action.args) > 1:
        typed = action.args[1]
        files.redactor.learn(typed if isinstance(typed, str) else None)
