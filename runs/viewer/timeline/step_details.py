"""What a step's record holds beside its columns, and the screen as the agent was given it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from runs.launching.seen_screens import Piece, seen_screen
from runs.models import Blob, Run, Step
from runs.models.runs.run import hides_something
from webagent.agents.screen.reply import as_commands

if TYPE_CHECKING:
    from runs.models import Attachment
    from runs.models.runs.run import ShownRun

HIDDEN_KEYS = {
    "llm_calls",
    "messages",
    "metrics",
    "reward",
    "terminated",
    "truncated",
    "extra",
    "thought_parts",
    "events",
}
"""Parts of a record that may tell the reward, the end, or who acted."""
MAX_CHARS = 20_000
MOST_REQUESTS = 200
"""More than that are read in the run's files."""


class StepDetails(NamedTuple):
    """One step in full.

    `files`, `requests`, `rest` and `problem` are empty where names are hidden.
    """

    step: Step
    actions: list[dict[str, Any]]
    tabs: list[dict[str, Any]]
    focused: str
    chat: list[dict[str, Any]]
    replays: int | None
    write_like: str
    problem: str
    files: list[Attachment]
    requests: list[dict[str, Any]]
    """What went over the network: all there is of runs that are known by that alone."""
    rest: str
    shows_reward: bool


def step_details(step: Step, run: Run) -> StepDetails:
    """The parts of the record that this viewer may see; two queries at most."""
    is_hidden = hides_something(run)
    record = step.record
    before = record.get("before") or {}
    rest = {key: value for key, value in record.items() if key in HIDDEN_KEYS and value}
    return StepDetails(
        step=step,
        actions=[action | {"raw": _spelled(action)} for action in record.get("actions") or []],
        tabs=before.get("tabs") or [],
        focused=before.get("focused") or "",
        chat=before.get("chat") or [],
        replays=record.get("replays"),
        write_like=record.get("write_like") or "",
        problem="" if is_hidden else (record.get("extra") or {}).get("problem") or "",
        files=[] if is_hidden else _files(step),
        requests=[] if is_hidden else _requests(record),
        rest="" if is_hidden else json.dumps(rest, ensure_ascii=False, indent=1)[:MAX_CHARS],
        shows_reward=not cast("ShownRun", run).is_blind,
    )


def _spelled(action: dict[str, Any]) -> str:
    """An action as it was written: text, or an object as JSON."""
    raw = action.get("raw")
    return raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)


def _requests(record: dict[str, Any]) -> list[dict[str, Any]]:
    sent = (event for event in record.get("events") or () if event.get("type") == "network")
    return list(islice(sent, MOST_REQUESTS))


def _files(step: Step) -> list[Attachment]:
    files = step.run.attachments.filter(step_index=step.index)
    return list(files.select_related("blob").order_by("role", "id"))


MOST_LINES = 2000
MOST_COMMANDS = 500


@dataclass(frozen=True, slots=True)
class BoxShown:
    """A box in whole pixels of the screenshot; a number is what ties it to its line."""

    number: int
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenShown:
    """One screen. `boxes` is empty where the lines do not fit them; `left_out` counts lines."""

    picture: Blob | None
    lines: list[tuple[int, str]]
    left_out: int
    boxes: list[BoxShown]
    commands: list[str]


def screen_shown(step: Step) -> ScreenShown | None:
    """What was told of the step's screenshot; None where nothing of that was kept."""
    seen = seen_screen(step)
    if seen is None:
        return None
    lines = seen.lines.split("\n") if seen.lines else []
    fits = len(lines) == len(seen.pieces)
    return ScreenShown(
        picture=step.screenshot,
        lines=list(enumerate(lines[:MOST_LINES])),
        left_out=max(0, len(lines) - MOST_LINES),
        boxes=[_box(*each) for each in enumerate(seen.pieces)] if fits else [],
        commands=list(_commands(step)),
    )


def _box(number: int, piece: Piece) -> BoxShown:
    left, top, right, bottom = map(round, piece.box)
    return BoxShown(number, left, top, max(1, right - left), max(1, bottom - top))


def _commands(step: Step) -> Iterator[str]:
    """Each in the agent's own words; what is no command of theirs as it was written."""
    actions = step.record.get("actions")
    for action in actions[:MOST_COMMANDS] if isinstance(actions, list) else []:
        raw = action.get("raw") if isinstance(action, dict) else None
        if isinstance(raw, str):
            yield as_commands(raw) or raw
