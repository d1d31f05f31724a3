"""Cut a page's tree to a number of tokens around what matters, saying what was left out."""

import io
from collections.abc import Iterator, Sequence
from itertools import groupby

from PIL import Image, ImageDraw, ImageFont

from webagent.agents.generic.interest import (
    Interest,
    Line,
    by_importance,
    can_be_acted_on,
    read_lines,
)
from webagent.llm.budget import count_tokens, longest_fitting
from webagent.llm.untrusted import filled
from webagent.trajectory.live import Observation
from webagent.trajectory.records import Box

CUT = "2"
"""Goes with each run of an agent; another one where other lines of an equal page are kept."""
LONGEST_LINE = 400
"""Characters of one line of a tree that is cut anyway."""
SMALL_GAP = 4
"""So few lines stand in for the note of their absence where that would be no shorter."""


def cut_tree(tree: str, tokens: int, interest: Interest, note: str) -> str:
    """The tree within so many tokens; empty if not even a note fits.

    Equal trees and interests are cut equally. Every line is kept with those that it stands in.

    Args:
        note: stands for lines left out; has slots for `lines` and `acting`.
    """
    if count_tokens(tree) <= tokens:
        return tree
    lines = read_lines(tree)
    drawer = _Drawer(lines, note)
    order = by_importance(lines, interest)
    return longest_fitting(lambda n: drawer.drawn(order[:n]), len(order), tokens)


class _Drawer:
    def __init__(self, lines: Sequence[Line], note: str) -> None:
        self._lines = lines
        self._note = note
        self._shown = [_short(line.text) for line in lines]

    def drawn(self, chosen: Sequence[int]) -> str:
        """The chosen lines and all that they stand in, with notes in the gaps."""
        kept = set(chosen)
        for index in chosen:
            kept.update(self._lines[index].parents)
        shown: list[str] = []
        for is_kept, stretch in groupby(range(len(self._lines)), key=kept.__contains__):
            indices = list(stretch)
            shown += [self._shown[each] for each in indices] if is_kept else self._noted(indices)
        return "\n".join(shown)

    def _noted(self, gap: Sequence[int]) -> list[str]:
        lines = [self._lines[index] for index in gap]
        indent = "\t" * min(len(line.parents) for line in lines)
        acting = sum(line.acts for line in lines)
        note = indent + filled(self._note, lines=len(lines), acting=acting)
        if len(gap) <= SMALL_GAP:
            missing = [self._shown[index] for index in gap]
            if count_tokens("\n".join(missing)) <= count_tokens(note):
                return missing
        return [note]


def _short(text: str) -> str:
    if len(text) <= LONGEST_LINE:
        return text
    return f"{text[:LONGEST_LINE]}… ({len(text) - LONGEST_LINE} characters left out)"


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
