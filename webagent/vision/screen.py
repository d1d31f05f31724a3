"""What was seen on a screenshot: boxes, lines of text, elements, and all of it as text."""

from __future__ import annotations

import colorsys
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce

from PIL import Image, ImageDraw, ImageFont

# Every kind of element the detector tells apart. The order is that of its outputs: append only,
# and train anew when it changes.
KINDS = (
    "button",
    "close button",
    "text box",
    "text area",
    "checkbox",
    "checked checkbox",
    "radio button",
    "selected radio button",
    "link",
    "tab",
    "drop-down",
    "list box",
    "option",
    "menu item",
    "list item",
    "section header",
    "slider",
    "slider handle",
    "spinner button",
    "icon",
    "image",
    "circle",
    "rectangle",
    "triangle",
    "shape",
    "letter",
    "grid cell",
    "calendar day",
    "dialog",
    "colour picker",
)

# The kind of an item that is text and nothing else.
TEXT = "text"

# Kinds that hold what somebody wrote or will write, rather than being named by their text.
HOLDERS = frozenset({"text box", "text area", "list box", "dialog"})


@dataclass(frozen=True, order=True)
class Box:
    """A rectangle in whole pixels of the screenshot: x1, y1 inside, x2, y2 just outside.

    Raises:
        ValueError: it holds no pixel.
    """

    x1: int
    y1: int
    x2: int
    y2: int

    def __post_init__(self) -> None:
        if self.x1 >= self.x2 or self.y1 >= self.y2:
            raise ValueError(f"A box without pixels: {self}.")

    def __str__(self) -> str:
        return f"[{self.x1}, {self.y1}, {self.x2}, {self.y2}]"

    @property
    def centre(self) -> tuple[int, int]:
        """The pixel in the middle, (x, y): where a click on the box goes."""
        return (self.x1 + self.x2) // 2, (self.y1 + self.y2) // 2

    @property
    def area(self) -> int:
        return (self.x2 - self.x1) * (self.y2 - self.y1)

    def shared(self, other: Box) -> int:
        """How many pixels both hold."""
        width = min(self.x2, other.x2) - max(self.x1, other.x1)
        height = min(self.y2, other.y2) - max(self.y1, other.y1)
        return max(0, width) * max(0, height)

    def iou(self, other: Box) -> float:
        """The pixels both hold among those either holds, 0 to 1."""
        shared = self.shared(other)
        return shared / (self.area + other.area - shared)

    def around(self, other: Box) -> Box:
        """The smallest box that holds both."""
        return Box(
            min(self.x1, other.x1),
            min(self.y1, other.y1),
            max(self.x2, other.x2),
            max(self.y2, other.y2),
        )

    @classmethod
    def around_all(cls, boxes: Iterable[Box]) -> Box:
        """The smallest box that holds all of them, of which there is one at least."""
        return reduce(cls.around, boxes)

    def moved(self, right: int, down: int) -> Box:
        """The same box elsewhere."""
        return Box(self.x1 + right, self.y1 + down, self.x2 + right, self.y2 + down)


def box_within(sides: Iterable[float], size: tuple[int, int]) -> Box | None:
    """The box of these sides in whole pixels, as far as a picture has them; None if it has none."""
    x1, y1, x2, y2 = (round(side) for side in sides)
    x1, y1, x2, y2 = max(0, x1), max(0, y1), min(size[0], x2), min(size[1], y2)
    return Box(x1, y1, x2, y2) if x1 < x2 and y1 < y2 else None


@dataclass(frozen=True)
class TextLine:
    """A line of text that was read, with how sure the reader is, 0 to 1.

    Its words, each with a box of its own, where the reader tells them apart.
    """

    text: str
    box: Box
    confidence: float
    words: tuple[TextLine, ...] = ()


@dataclass(frozen=True)
class Element:
    """An element that was found, its kind one of `KINDS`, with how sure the detector is, 0 to 1."""

    kind: str
    box: Box
    confidence: float


@dataclass(frozen=True)
class ScreenItem:
    """Something on the screen; its kind one of `KINDS`, or `TEXT` for text outside any element.

    The text is what stands inside, or a caption of the picture, or "".
    """

    kind: str
    text: str
    box: Box

    def line(self) -> str:
        """As an agent reads it: `'Submit' button: [x1, y1, x2, y2]`."""
        # As Python writes a string: quotes in the text can never be taken for its end.
        quoted = repr(self.text)
        if self.kind == TEXT:
            return f"{quoted}: {self.box}"
        if not self.text:
            return f"{self.kind}: {self.box}"
        if self.kind in HOLDERS:
            return f"{self.kind} containing the text {quoted}: {self.box}"
        return f"{quoted} {self.kind}: {self.box}"


@dataclass(frozen=True)
class ScreenText:
    """A screenshot as text: its items by y, then x; its size (width, height) in pixels.

    `milliseconds` says how long each part of the reading took.
    """

    items: tuple[ScreenItem, ...]
    size: tuple[int, int]
    milliseconds: Mapping[str, float] = field(default_factory=dict, compare=False)

    def lines(self) -> str:
        """One item a line, from the top down, then from left to right."""
        return "\n".join(item.line() for item in sorted(self.items, key=reading_order))


def reading_order(item: ScreenItem) -> tuple[int, int, int, int, str, str]:
    """What items are sorted by: y, then x, then whatever tells two at the same place apart."""
    box = item.box
    return box.y1, box.x1, box.y2, box.x2, item.kind, item.text


def in_reading_order(lines: Iterable[TextLine]) -> str:
    """The text of pieces that may stand side by side or below each other."""
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: (line.box.centre[1], line.box, line.text)):
        if rows and line.box.centre[1] < rows[-1][0].box.y2:
            rows[-1].append(line)
        else:
            rows.append([line])
    return " ".join(
        piece.text for row in rows for piece in sorted(row, key=lambda line: (line.box, line.text))
    )


SMALLEST_SIDE = 480
_LABEL_SIZE = 10


def draw_boxes(png: bytes, screen: ScreenText) -> bytes:
    """The screenshot as a PNG with every item's box, its number in the lines, and its kind.

    Small screenshots are drawn enlarged, so that labels have room.
    """
    with Image.open(io.BytesIO(png)) as opened:
        picture = opened.convert("RGB")
    scale = max(1, -(-SMALLEST_SIDE // min(picture.size)))
    picture = picture.resize(
        (picture.width * scale, picture.height * scale), Image.Resampling.LANCZOS
    )
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(_LABEL_SIZE)
    for number, item in enumerate(screen.items, start=1):
        _draw_item(draw, font, item.box, scale, f"{number} {item.kind}", colour_of(item.kind))
    written = io.BytesIO()
    picture.save(written, "PNG", optimize=True)
    return written.getvalue()


def colour_of(kind: str) -> tuple[int, int, int]:
    """The colour a kind is drawn in, always the same, and dark enough to read white on it."""
    if kind == TEXT:
        return 90, 90, 90
    hue = KINDS.index(kind) * 0.618 % 1
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.9, 0.7)
    return round(red * 255), round(green * 255), round(blue * 255)


def _draw_item(
    draw: ImageDraw.ImageDraw,
    font: ImageFont.ImageFont | ImageFont.FreeTypeFont,
    box: Box,
    scale: int,
    label: str,
    colour: tuple[int, int, int],
) -> None:
    corners = [value * scale for value in (box.x1, box.y1, box.x2, box.y2)]
    draw.rectangle((*corners[:2], corners[2] - 1, corners[3] - 1), outline=colour, width=2)
    # The label stands above the box, or inside at the very top of the picture.
    width = draw.textlength(label, font=font)
    top = max(0, corners[1] - _LABEL_SIZE - 3)
    draw.rectangle((corners[0], top, corners[0] + width + 4, top + _LABEL_SIZE + 3), fill=colour)
    draw.text((corners[0] + 2, top), label, font=font, fill="white")
