"""What an agent was told of a screen, as the timeline shows it: lines, boxes, commands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from runs.launching.carrying_out.seen_screens import Piece, seen_screen
from runs.models import Blob, Step
from webagent.agents.screen.commands import told

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
            yield told(raw) or raw
