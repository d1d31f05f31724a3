"""Pictures with the elements on them, as the data set keeps them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from webagent.vision.screen import Box, Element

INDEX = "pictures.jsonl"
TRAIN, SEEN, UNSEEN = "train", "seen", "unseen"
# The "task" of pages that were made at random.
MADE = "made-page"


@dataclass(frozen=True)
class LabelledPicture:
    """A picture (PNG) of a task, with the elements on it; boxes in pixels of the picture.

    `part`: what to train on, other seeds of the same tasks ("seen"), or other tasks ("unseen").
    """

    file: str
    task: str
    seed: int
    clicks: int
    styled: bool
    part: str
    elements: tuple[Element, ...]

    def line(self) -> str:
        """As a line of the index."""
        return json.dumps(asdict(self))


def read_index(directory: Path) -> list[LabelledPicture]:
    """The labelled pictures of a directory, in the order in which they were taken."""
    return [_picture(line) for line in (directory / INDEX).read_text().splitlines()]


def _picture(line: str) -> LabelledPicture:
    record = json.loads(line)
    elements = tuple(
        Element(found["kind"], Box(**found["box"]), found["confidence"])
        for found in record["elements"]
    )
    return LabelledPicture(**{**record, "elements": elements})
