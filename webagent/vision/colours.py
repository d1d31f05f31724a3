"""Name the colour of a figure: on many screens the only thing that tells figures apart."""

from __future__ import annotations

from collections import Counter

from PIL import Image

from webagent.vision.screen import Box

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
