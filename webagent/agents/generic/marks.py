"""A screenshot with the bid of every element that can be acted on drawn at its frame."""

from __future__ import annotations

import io
from collections.abc import Iterator

from PIL import Image, ImageDraw, ImageFont

from webagent.agents.generic.interest import can_be_acted_on
from webagent.trajectory.live import Observation
from webagent.trajectory.records import Box

COLOURS = ("#b00020", "#0b57d0", "#146c2e", "#7a3ea8", "#a04b00", "#00626e")
FONT_SIZE = 11
SMALLEST = 3
"""Pixels: what is thinner cannot be hit."""


def marked_screenshot(observation: Observation) -> bytes:
    """The screenshot as a PNG with a frame and a bid on every element that can be acted on."""
    with Image.open(io.BytesIO(observation.screenshot)) as opened:
        picture = opened.convert("RGB")
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(FONT_SIZE)
    for number, (bid, box) in enumerate(marked_elements(observation)):
        colour = COLOURS[number % len(COLOURS)]
        left, top = max(box.x, 0), max(box.y, 0)
        right = min(box.x + box.width, picture.width) - 1
        bottom = min(box.y + box.height, picture.height) - 1
        draw.rectangle((left, top, max(left, right), max(top, bottom)), outline=colour, width=1)
        _label(draw, font, bid, (left, top), colour, picture.size)
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    return buffer.getvalue()


def marked_elements(observation: Observation) -> Iterator[tuple[str, Box]]:
    """Bid and box of what can be acted on within the picture, in the tree's order."""
    for node in observation.nodes:
        box = observation.boxes.get(node.bid) if node.bid else None
        if node.bid is None or box is None or not can_be_acted_on(node):
            continue
        if is_in_view(box, observation) and min(box.width, box.height) >= SMALLEST:
            yield node.bid, box


def is_in_view(box: Box, observation: Observation) -> bool:
    """Whether the window shows any of it."""
    return (
        box.x < observation.width
        and box.y < observation.height
        and box.x + box.width > 0
        and box.y + box.height > 0
    )


def _label(
    draw: ImageDraw.ImageDraw,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
    text: str,
    corner: tuple[float, float],
    colour: str,
    size: tuple[int, int],
) -> None:
    """The text on a plate at the corner, above the element if there is room, inside the picture."""
    x0, y0, x1, y1 = draw.textbbox((0, 0), text, font=font)
    width, height = x1 - x0 + 4, y1 - y0 + 4
    left = max(0.0, min(corner[0], size[0] - width))
    top = corner[1] - height if corner[1] >= height else corner[1]
    draw.rectangle((left, top, left + width, top + height), fill=colour)
    draw.text((left + 2 - x0, top + 2 - y0), text, fill="white", font=font)
