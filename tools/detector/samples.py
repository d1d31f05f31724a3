"""Labelled pictures, and what a training step is fed of them: pieces, and what to say of those."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageOps

from webagent.vision.engines import SCALE
from webagent.vision.screen import KINDS, Box, Element

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


SIDE = 160
# A box that a piece's edge leaves less of than this is not asked for.
LEAST_LEFT = 0.4
Floats = NDArray[np.float32]
Target = tuple[str, tuple[float, float, float, float]]


@dataclass(frozen=True)
class Sample:
    """A square piece (RGB, uint8, `SIDE` wide) and the kinds and boxes (x1, y1, x2, y2) on it."""

    pixels: NDArray[np.uint8]
    targets: tuple[Target, ...]


class Sampler:
    """Draws pieces of pictures, those with rare kinds more often."""

    def __init__(self, directory: Path, pictures: Sequence[LabelledPicture], seed: int) -> None:
        self._directory = directory
        self._pictures = pictures
        self._random = random.Random(seed)  # noqa: S311 (no secret)
        self._images: dict[str, Image.Image] = {}
        counts = Counter(e.kind for picture in pictures for e in picture.elements)
        self._weights = [
            max((counts[e.kind] ** -0.5 for e in picture.elements), default=0.01)
            for picture in pictures
        ]

    def draw(self) -> Sample:
        """A piece of a random picture, resized and recoloured."""
        rng = self._random
        picture = rng.choices(self._pictures, self._weights)[0]
        image = self._image(picture.file)
        scale = SCALE * rng.uniform(0.75, 1.35)
        side = round(SIDE / scale)
        # Around one of the elements, as half of every screenshot is empty.
        middle = rng.choice(picture.elements).box.centre if picture.elements else (120, 180)
        left = round(middle[0] - rng.uniform(0.1, 0.9) * side)
        top = round(middle[1] - rng.uniform(0.1, 0.9) * side)
        left = min(max(left, 0), max(0, image.width - side))
        top = min(max(top, 0), max(0, image.height - side))
        piece = image.crop((left, top, left + side, top + side)).resize(
            (SIDE, SIDE), Image.Resampling.BILINEAR
        )
        targets = tuple(
            (element.kind, cut)
            for element in picture.elements
            if (cut := _cut(element.box, left, top, SIDE / side)) is not None
        )
        return Sample(np.asarray(self._recoloured(piece)), targets)

    def _image(self, file: str) -> Image.Image:
        if file not in self._images:
            with Image.open(self._directory / file) as opened:
                self._images[file] = opened.convert("RGB")
        return self._images[file]

    def _recoloured(self, image: Image.Image) -> Image.Image:
        rng = self._random
        if rng.random() < 0.4:
            return image
        if rng.random() < 0.5:
            channels = list(image.split())
            rng.shuffle(channels)
            image = Image.merge("RGB", channels)
        if rng.random() < 0.12:
            image = ImageOps.invert(image)
        image = ImageEnhance.Brightness(image).enhance(rng.uniform(0.75, 1.15))
        image = ImageEnhance.Contrast(image).enhance(rng.uniform(0.7, 1.2))
        return ImageEnhance.Color(image).enhance(rng.uniform(0.2, 1.5))


def _cut(box: Box, left: int, top: int, scale: float) -> tuple[float, float, float, float] | None:
    x1, y1 = (box.x1 - left) * scale, (box.y1 - top) * scale
    x2, y2 = (box.x2 - left) * scale, (box.y2 - top) * scale
    area = (x2 - x1) * (y2 - y1)
    x1, y1, x2, y2 = max(x1, 0), max(y1, 0), min(x2, SIDE), min(y2, SIDE)
    if x2 - x1 < 2.5 or y2 - y1 < 2.5 or (x2 - x1) * (y2 - y1) < LEAST_LEFT * area:
        return None
    return x1, y1, x2, y2


@dataclass(frozen=True)
class Wanted:
    """What the network should say of a sample at one stride, cell by cell.

    `kinds` (kinds, h, w): 1 in the middle of an element, falling off around it.
    `boxes` (4, h, w): x1, y1, x2, y2 in pixels where `weights` (h, w) is above 0.
    """

    kinds: Floats
    boxes: Floats
    weights: Floats


def wanted(sample: Sample, stride: int, sides: tuple[int, int]) -> Wanted:
    """For the elements whose longest side in pixels is in the half-open range `sides`."""
    cells = SIDE // stride
    kinds = np.zeros((len(KINDS), cells, cells), np.float32)
    boxes = np.zeros((4, cells, cells), np.float32)
    weights = np.zeros((cells, cells), np.float32)
    at = (np.arange(cells, dtype=np.float32) + 0.5) * stride
    # The smaller ones come last and win the cells that several claim.
    ordered = sorted(sample.targets, key=lambda target: -_area(target[1]))
    for kind, (x1, y1, x2, y2) in ordered:
        if not sides[0] <= max(x2 - x1, y2 - y1) < sides[1]:
            continue
        x, y = (x1 + x2) / 2, (y1 + y2) / 2
        across = np.exp(-(((at - x) / max(0.1 * (x2 - x1), 0.5 * stride)) ** 2) / 2)
        down = np.exp(-(((at - y) / max(0.1 * (y2 - y1), 0.5 * stride)) ** 2) / 2)
        hill = np.outer(down, across).astype(np.float32)
        row, column = min(int(y / stride), cells - 1), min(int(x / stride), cells - 1)
        hill[row, column] = 1.0
        layer = kinds[KINDS.index(kind)]
        np.maximum(layer, hill, out=layer)
        inside = np.outer((at > y1) & (at < y2), (at > x1) & (at < x2)) & (hill > 0.3)
        inside[row, column] = True
        boxes[:, inside] = np.array([[x1], [y1], [x2], [y2]], np.float32)
        weights[inside] = hill[inside]
    return Wanted(kinds, boxes, weights)


def _area(box: tuple[float, float, float, float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
