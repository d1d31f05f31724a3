"""A screenshot with what was seen on it drawn over it."""

from __future__ import annotations

import colorsys
import io

from PIL import Image, ImageDraw, ImageFont

from webagent.vision.screen import KINDS, TEXT, Box, ScreenText

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
