"""From a screenshot to text: read, find, join."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from PIL import Image

from webagent.vision.captions import CAPTIONED, Captioner
from webagent.vision.colours import COLOURED, colour_name
from webagent.vision.detector import Detector
from webagent.vision.merging import merged
from webagent.vision.ocr import Ocr
from webagent.vision.screen import ScreenItem, ScreenText


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
