"""What a step's record holds beside its columns, and the screen as the agent was given it.

Files of screens may come from anywhere: what is no such thing is left out, never shown as one.
"""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runs.models import Attachment, Run, Step
from runs.models.runs.run import hides_something
from runs.storage.blobs import MissingBlobError, read_blob
from webagent.agents.screen.reply import as_commands

MAX_BYTES = 2_000_000
MOST_PIECES = 2000
LINES, PIECES, PAGE = "screen_text", "elements", "dom"
"""Roles of the files: the very lines that it was told, the same as data, and what the page says."""
_Pixels = Annotated[float, Field(ge=-100_000, le=100_000, allow_inf_nan=False)]
Edges = tuple[_Pixels, _Pixels, _Pixels, _Pixels]
"""Left, top, right, bottom in pixels of the screenshot."""


class Piece(BaseModel):
    """Something that was seen on the screen, with the text on it."""

    model_config = ConfigDict(frozen=True)

    kind: str = Field(max_length=60)
    text: str = Field(max_length=5000)
    box: Edges


class PageElement(BaseModel):
    """Something that the page says is there."""

    model_config = ConfigDict(frozen=True)

    bid: str = Field(max_length=60)
    role: str | None = Field(max_length=60)
    text: str = Field(max_length=5000)
    box: Edges
    multiline: bool | None = None
    """Whether a text box is a text area, which has the same role; None where that was not kept."""


class _Pieces(BaseModel):
    items: list[Piece] = Field(max_length=MOST_PIECES)


class PageSeen(BaseModel):
    """The page's own elements, and the size of the screenshot in pixels."""

    model_config = ConfigDict(frozen=True)

    size: tuple[_Pixels, _Pixels]
    elements: list[PageElement]


class SeenScreen(BaseModel):
    """One screen as an agent was told it: its pieces from the top down, and the lines verbatim."""

    model_config = ConfigDict(frozen=True)

    pieces: list[Piece]
    lines: str


def seen_screen(step: Step) -> SeenScreen | None:
    """What the agent was told of the step's screenshot; None where none was kept, or no such."""
    files = _screen_files(step, LINES, PIECES)
    lines = _content(files.get(LINES))
    if lines is None:
        return None
    content = _content(files.get(PIECES))
    try:
        found = _Pieces.model_validate_json(content or b"")
    except ValidationError:
        found = _Pieces(items=[])
    # In the order of the lines, so that each line finds its piece.
    pieces = sorted(
        found.items, key=lambda one: (*(one.box[at] for at in (1, 0, 3, 2)), one.kind, one.text)
    )
    return SeenScreen(pieces=pieces, lines=lines.decode("utf-8", "replace"))


def page_seen(step: Step) -> PageSeen | None:
    """What the page says was on the step's screenshot; None where it was not kept."""
    content = _content(_screen_files(step, PAGE).get(PAGE))
    try:
        return PageSeen.model_validate_json(content or b"")
    except ValidationError:
        return None


def _screen_files(step: Step, *roles: str) -> dict[str, Attachment]:
    """The step's own files of these roles: what the record names may be another run's."""
    named = (step.record.get("before") or {}).get
    hashes = {role: (named(role) or {}).get("sha256") for role in roles}
    kept = Attachment.objects.filter(run=step.run_id, step_index=step.index, role__in=roles)
    return {
        each.role: each
        for each in kept.select_related("blob")
        if each.blob_id == hashes.get(each.role)
    }


def _content(file: Attachment | None) -> bytes | None:
    if file is None or file.blob.size > MAX_BYTES:
        return None
    try:
        return read_blob(file.blob)
    except MissingBlobError:
        return None


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


def step_details(step: Step, run: Run) -> dict[str, Any]:
    """The parts of the record that this viewer may see; two queries at most.

    `files`, `requests`, `rest` and `problem` are empty where names are hidden.
    """
    is_hidden = hides_something(run)
    record = step.record
    before = record.get("before") or {}
    rest = {key: value for key, value in record.items() if key in HIDDEN_KEYS and value}
    return {
        "step": step,
        "actions": [action | {"raw": _spelled(action)} for action in record.get("actions") or []],
        "tabs": before.get("tabs") or [],
        "focused": before.get("focused") or "",
        "chat": before.get("chat") or [],
        "replays": record.get("replays"),
        "write_like": record.get("write_like") or "",
        "problem": "" if is_hidden else (record.get("extra") or {}).get("problem") or "",
        "files": [] if is_hidden else _files(step),
        "requests": [] if is_hidden else _requests(record),
        "rest": "" if is_hidden else json.dumps(rest, ensure_ascii=False, indent=1)[:MAX_CHARS],
        "shows_reward": not run.is_blind,
    }


def _spelled(action: dict[str, Any]) -> str:
    """An action as it was written: text, or an object as JSON."""
    raw = action.get("raw")
    return raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)


def _requests(record: dict[str, Any]) -> list[dict[str, Any]]:
    """What went over the network: all there is of runs that are known by that alone."""
    sent = (event for event in record.get("events") or () if event.get("type") == "network")
    return list(islice(sent, MOST_REQUESTS))


def _files(step: Step) -> list[Attachment]:
    files = step.run.attachments.filter(step_index=step.index)
    return list(files.select_related("blob").order_by("role", "id"))


MOST_LINES = 2000
MOST_COMMANDS = 500


def screen_shown(step: Step) -> dict[str, Any] | None:
    """What was told of the step's screenshot; None where nothing of that was kept.

    `boxes` is empty where the lines do not fit them; `left_out` counts lines.
    """
    seen = seen_screen(step)
    if seen is None:
        return None
    lines = seen.lines.split("\n") if seen.lines else []
    fits = len(lines) == len(seen.pieces)
    return {
        "picture": step.screenshot,
        "lines": list(enumerate(lines[:MOST_LINES])),
        "left_out": max(0, len(lines) - MOST_LINES),
        "boxes": [_box(*each) for each in enumerate(seen.pieces)] if fits else [],
        "commands": list(_commands(step)),
    }


def _box(number: int, piece: Piece) -> dict[str, int]:
    """A box in whole pixels of the screenshot; its number is what ties it to its line."""
    left, top, right, bottom = map(round, piece.box)
    size = {"width": max(1, right - left), "height": max(1, bottom - top)}
    return {"number": number, "x": left, "y": top, **size}


def _commands(step: Step) -> Iterator[str]:
    """Each in the agent's own words; what is no command of theirs as it was written."""
    actions = step.record.get("actions")
    for action in actions[:MOST_COMMANDS] if isinstance(actions, list) else []:
        raw = action.get("raw") if isinstance(action, dict) else None
        if isinstance(raw, str):
            yield as_commands(raw) or raw
