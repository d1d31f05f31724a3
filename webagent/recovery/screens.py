"""Tell screens apart by what they show, not by a text cursor that happens to blink."""

from __future__ import annotations

import hashlib
import io
from collections import deque

from PIL import Image, ImageChops

from webagent.trajectory.bounds import Bounds
from webagent.trajectory.images import FORMATS, look_at_image

CARET_WIDTH = 3
CARET_HEIGHT = 64
"""Screenshot pixels, both: the tallest text cursor, at twice a usual screen's density."""
KEPT = 25
"""As many as the longest loop that is looked for may have."""
KEPT_PIXELS = 50_000_000


class Screens:
    """Numbers pictures, the same number for those that differ by one text cursor at most.

    The last `KEPT` that differ are remembered, or fewer large ones.
    """

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._shown: deque[tuple[int, Image.Image]] = deque(maxlen=KEPT)

    def number(self, content: bytes) -> int:
        """Which screen the picture shows; what is no picture is known again by its bytes alone."""
        digest = hashlib.sha256(content).digest()
        if (known := self._numbers.get(digest)) is None:
            known = self._numbers[digest] = self._look(content)
        return known

    def _look(self, content: bytes) -> int:
        new = len(self._numbers)
        if (shown := _in_greys(content)) is None:
            return new
        for number, other in reversed(self._shown):
            if _differ_by_a_caret(shown, other):
                return number
        self._shown.append((new, shown))
        while sum(image.width * image.height for _, image in self._shown) > KEPT_PIXELS:
            self._shown.popleft()
        return new


def _in_greys(content: bytes) -> Image.Image | None:
    try:
        look_at_image(content, Bounds())
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            return image.convert("L")
    except Exception:  # noqa: BLE001 (Pillow raises what damaged bytes lead it to)
        return None


def _differ_by_a_caret(one: Image.Image, other: Image.Image) -> bool:
    if one.size != other.size:
        return False
    box = ImageChops.difference(one, other).getbbox()
    if box is None:
        return True
    left, top, right, bottom = box
    return right - left <= CARET_WIDTH and bottom - top <= CARET_HEIGHT
