"""From a screenshot to text: read, find, join, and name colours and what pictures show."""

import io
import logging
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import Protocol

from PIL import Image

from webagent.llm.interface import (
    ImagePart,
    LanguageModel,
    Message,
    ModelFailure,
    Request,
    TextPart,
)
from webagent.vision.engines import Detector, Ocr
from webagent.vision.screen import (
    TEXT,
    Box,
    Element,
    ScreenItem,
    ScreenText,
    TextLine,
    in_reading_order,
    reading_order,
)

logger = logging.getLogger(__name__)

# Text belongs to an element that holds this much of it.
INSIDE = 0.6
# Engines read these little pictures as letters; their names stand beside them, never inside.
TEXTLESS = frozenset(
    {
        "checkbox",
        "checked checkbox",
        "radio button",
        "selected radio button",
        "close button",
        "icon",
        "slider",
        "slider handle",
        "spinner button",
    }
)
_NOISE = 2
"""The most letters that are made of such a picture."""


def merged(lines: Sequence[TextLine], elements: Sequence[Element]) -> tuple[ScreenItem, ...]:
    """Every element with the text in it, and the text outside any; by y, then x.

    Text goes to the smallest element that holds it: to a button rather than to its dialog. Where
    a line runs through several elements, such as a link within a sentence, its words are told
    apart.
    """
    ordered = sorted(elements, key=lambda e: (e.box.area, e.box, e.kind, -e.confidence))
    held: dict[int, list[TextLine]] = {}
    left: list[TextLine] = []
    for line in sorted(lines, key=lambda line: (line.box, line.text)):
        for place, piece in _pieces(line, ordered):
            if place is None:
                left.append(piece)
            elif ordered[place].kind not in TEXTLESS:
                held.setdefault(place, []).append(piece)
            elif len(piece.text) > _NOISE:
                left.append(piece)
    items = [
        ScreenItem(element.kind, in_reading_order(held.get(place, ())), element.box)
        for place, element in enumerate(ordered)
    ]
    items += [ScreenItem(TEXT, piece.text, piece.box) for piece in left]
    return tuple(sorted(items, key=reading_order))


def _pieces(line: TextLine, ordered: Sequence[Element]) -> list[tuple[int | None, TextLine]]:
    """The line, or the parts of it that are in different elements, each with its element."""
    in_element = groupby(line.words or (line,), key=lambda word: _place(word.box, ordered))
    runs = [(place, list(words)) for place, words in in_element]
    if len(runs) == 1:
        return [(runs[0][0], line)]
    return [(place, _joined(words)) for place, words in runs]


def _place(box: Box, ordered: Sequence[Element]) -> int | None:
    """The smallest element that holds the box."""
    for place, element in enumerate(ordered):
        if element.box.shared(box) >= INSIDE * box.area:
            return place
    return None


def _joined(words: Sequence[TextLine]) -> TextLine:
    box = Box.around_all(word.box for word in words)
    text = " ".join(word.text for word in words)
    return TextLine(text, box, min(word.confidence for word in words))


COLOURED = frozenset({"circle", "rectangle", "triangle", "shape", "letter"})
NAMES = {
    "black": (0, 0, 0),
    "grey": (128, 128, 128),
    "white": (255, 255, 255),
    "red": (255, 0, 0),
    "green": (0, 128, 0),
    "lime": (0, 255, 0),
    "blue": (0, 0, 255),
    "yellow": (255, 255, 0),
    "aqua": (0, 255, 255),
    "magenta": (255, 0, 255),
    "orange": (255, 165, 0),
    "purple": (128, 0, 128),
    "pink": (255, 192, 203),
    "brown": (139, 69, 19),
}
_STEP = 16
"""Colours this near in each channel are counted as one."""
_NEAR_GROUND = 48


def colour_name(image: Image.Image, box: Box) -> str:
    """The name of the colour that most of the figure has; "" where it is all background.

    What surrounds the box is taken for the background.
    """
    colour = image.convert("RGB")
    ground = _commonest(_frame(colour, box))
    inside = _pixels(colour, box)
    figure = [pixel for pixel in inside if _distance(pixel, ground) > _NEAR_GROUND]
    if not figure:
        return ""
    found = _commonest(figure)
    return min(NAMES, key=lambda name: _distance(NAMES[name], found))


Pixel = tuple[int, int, int]


def _pixels(image: Image.Image, box: Box) -> list[Pixel]:
    raw = image.crop((box.x1, box.y1, box.x2, box.y2)).tobytes()
    return [(raw[at], raw[at + 1], raw[at + 2]) for at in range(0, len(raw), 3)]


def _frame(image: Image.Image, box: Box) -> list[Pixel]:
    """The pixels right outside the box."""
    x1, y1 = max(0, box.x1 - 3), max(0, box.y1 - 3)
    x2, y2 = min(image.width, box.x2 + 3), min(image.height, box.y2 + 3)
    rows = [Box(x1, y1, x2, y1 + 1), Box(x1, y2 - 1, x2, y2)]
    columns = [Box(x1, y1, x1 + 1, y2), Box(x2 - 1, y1, x2, y2)]
    return [pixel for side in rows + columns for pixel in _pixels(image, side)]


def _commonest(pixels: list[Pixel]) -> Pixel:
    """The middle of the bin of colours with most pixels in it."""
    bins = Counter(tuple(value // _STEP for value in pixel) for pixel in pixels)
    most = max(bins.items(), key=lambda item: (item[1], item[0]))[0]
    members = [p for p in pixels if tuple(value // _STEP for value in p) == most]
    red, green, blue = (sum(channel) // len(members) for channel in zip(*members, strict=True))
    return red, green, blue


def _distance(one: Pixel, other: Pixel) -> int:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))


CAPTIONED = frozenset({"icon", "image"})
_MARGIN = 4
_SIDE = 224
_MAX_TOKENS = 40
_LONGEST = 60
_QUESTION = (
    "This is a small part of a screenshot, with one icon or picture in its middle. Name "
    "it in at most four words, such as: red star, trash can, reply arrow. Say the name alone."
)


class Captioner(Protocol):
    """Names what a part of a picture shows."""

    def caption(self, image: Image.Image, box: Box) -> str:
        """A few words, or "" where there is nothing to say."""


class ModelCaptioner:
    """Asks a vision model of the registry, through the same interface as everybody.

    Without a reply the element goes by its kind alone: a caption is a help, not the sight.
    """

    def __init__(self, models: LanguageModel, model: str) -> None:
        self._models = models
        self._model = model
        self._known: dict[bytes, str] = {}

    def caption(self, image: Image.Image, box: Box) -> str:
        part = _part(image, box)
        if part not in self._known:
            self._known[part] = self._asked(part)
        return self._known[part]

    def _asked(self, part: bytes) -> str:
        request = Request(
            model=self._model,
            messages=(Message("user", (TextPart(_QUESTION), ImagePart(part, "image/png"))),),
            max_tokens=_MAX_TOKENS,
        )
        try:
            said = self._models.complete(request).text
        except ModelFailure as failure:
            logger.warning("No caption from %s: %s", self._model, failure)
            return ""
        return " ".join(said.split()).strip(" .\"'")[:_LONGEST]


def _part(image: Image.Image, box: Box) -> bytes:
    """The element and a little around it, as a PNG large enough for a model."""
    corners = (
        max(0, box.x1 - _MARGIN),
        max(0, box.y1 - _MARGIN),
        min(image.width, box.x2 + _MARGIN),
        min(image.height, box.y2 + _MARGIN),
    )
    part = image.convert("RGB").crop(corners)
    scale = max(1, _SIDE // max(part.size))
    part = part.resize((part.width * scale, part.height * scale), Image.Resampling.LANCZOS)
    written = io.BytesIO()
    part.save(written, "PNG")
    return written.getvalue()


class ScreenReader:
    """Reads screenshots with an engine for text and a detector for elements.

    Args:
        captioner: names pictures without text; without one they go by their kind.
        cut_top: so many pixels at the top are not looked at, such as an instruction that is
            given as text. All boxes stay those of the whole screenshot.
    """

    def __init__(
        self, ocr: Ocr, detector: Detector, *, captioner: Captioner | None = None, cut_top: int = 0
    ) -> None:
        if cut_top < 0:
            raise ValueError("cut_top counts pixels: it cannot be below 0.")
        self._ocr = ocr
        self._detector = detector
        self._captioner = captioner
        self._cut_top = cut_top

    def read(self, png: bytes) -> ScreenText:
        """What is on the screenshot, and how long each part of reading it took."""
        milliseconds: dict[str, float] = {}
        with _measured(milliseconds, "decode"), Image.open(io.BytesIO(png)) as opened:
            image = opened.convert("RGB")
        if self._cut_top >= image.height:
            return ScreenText((), image.size, milliseconds)
        seen = image.crop((0, self._cut_top, *image.size))
        with _measured(milliseconds, "ocr"):
            lines = self._ocr.read(seen)
        with _measured(milliseconds, "detection"):
            elements = self._detector.find(seen)
        with _measured(milliseconds, "merge"):
            items = merged(lines, elements)
        with _measured(milliseconds, "captions"):
            items = tuple(self._captioned(seen, item) for item in items)
        whole = tuple(replace(item, box=item.box.moved(0, self._cut_top)) for item in items)
        return ScreenText(whole, image.size, milliseconds)

    def _captioned(self, image: Image.Image, item: ScreenItem) -> ScreenItem:
        if item.kind in COLOURED:
            named = f"{colour_name(image, item.box)} {item.text}".strip()
            return replace(item, text=named)
        if item.text or item.kind not in CAPTIONED or self._captioner is None:
            return item
        return replace(item, text=self._captioner.caption(image, item.box))


@contextmanager
def _measured(milliseconds: dict[str, float], part: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    milliseconds[part] = round(1000 * (time.perf_counter() - started), 1)
