"""What an agent saw that is told screenshots as text: the pieces of the screen, and its lines.

These files may come from anywhere: what is no such thing is left out, never shown as one.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runs.models import Attachment, Step
from runs.storage.blobs import MissingBlobError, read_blob

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
    files = _files(step, LINES, PIECES)
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
        found.items,
        key=lambda one: (*(one.box[at] for at in (1, 0, 3, 2)), one.kind, one.text),
    )
    return SeenScreen(pieces=pieces, lines=lines.decode("utf-8", "replace"))


def page_seen(step: Step) -> PageSeen | None:
    """What the page says was on the step's screenshot; None where it was not kept."""
    content = _content(_files(step, PAGE).get(PAGE))
    try:
        return PageSeen.model_validate_json(content or b"")
    except ValidationError:
        return None


def _files(step: Step, *roles: str) -> dict[str, Attachment]:
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
