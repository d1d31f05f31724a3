"""Reading an observation's screenshot, and nothing else of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import JsonValue

from webagent.agents.agent import AgentFailure
from webagent.agents.screen.settings import VisionSettings
from webagent.trajectory.live import Observation, ReadScreen
from webagent.trajectory.records import ErrorOrigin
from webagent.vision.screen import ScreenText, draw_boxes

if TYPE_CHECKING:
    from webagent.vision.captions import Captioner
    from webagent.vision.detector import Detector
    from webagent.vision.ocr import Ocr

Read = Callable[[Observation], ScreenText]

INSTRUCTION_AREAS = {"miniwob.localhost": 75}
"""How high the instruction stands above a site's tasks, in pixels of its screenshots, by host.

On MiniWoB++ a yellow area of 50 CSS pixels, of which the screenshots show 1.5 for each. The
environment empties it, since the goal is given as text.
"""

_reading = threading.Lock()


@dataclass(frozen=True, slots=True)
class ScreenReading:
    """A screenshot as text, and as a picture with the boxes drawn on it."""

    screen: ScreenText
    lines: str
    drawn: bytes | None

    @property
    def kept(self) -> ReadScreen:
        """What a step keeps of it."""
        items: list[JsonValue] = [
            {"kind": item.kind, "text": item.text, "box": [box.x1, box.y1, box.x2, box.y2]}
            for item in self.screen.items
            for box in (item.box,)
        ]
        return ReadScreen(
            self.lines,
            {
                "size": list(self.screen.size),
                "items": items,
                "milliseconds": dict(self.screen.milliseconds),
            },
        )


def look(observation: Observation, read: Read) -> ScreenReading:
    """What the screenshot says. Where there is none, nothing is seen.

    Raises:
        AgentFailure: the engine that reads does not work here.
    """
    screen = read(observation)
    drawn = draw_boxes(observation.screenshot, screen) if observation.screenshot else None
    return ScreenReading(screen, screen.lines(), drawn)


def reader_of(settings: VisionSettings, captioner: Captioner | None = None) -> Read:
    """Reads screenshots as it is set. Its engines are loaded at the first look."""

    def read(observation: Observation) -> ScreenText:
        if not observation.screenshot:
            return ScreenText((), (observation.width, observation.height))
        # numpy with it: web processes make agents to check their settings, and never look.
        from webagent.vision.ocr import OcrUnavailable
        from webagent.vision.reading import ScreenReader

        cut_top = settings.cut_top
        if cut_top is None:
            cut_top = INSTRUCTION_AREAS.get(urlsplit(observation.url).hostname or "", 0)
        # One picture at a time: an engine uses all cores by itself, and not all are of threads.
        with _reading:
            ocr, detector = _engines(settings.ocr)
            reader = ScreenReader(ocr, detector, captioner=captioner, cut_top=cut_top)
            try:
                return reader.read(observation.screenshot)
            except OcrUnavailable as broken:
                raise AgentFailure(str(broken), ErrorOrigin.HARNESS) from broken

    return read


@cache
def _engines(ocr: str) -> tuple[Ocr, Detector]:
    """The engine that reads and the detector, once for the process.

    Raises:
        AgentFailure: one of them is not installed, or does not work.
    """
    try:
        from webagent.vision.detector import load_detector
        from webagent.vision.ocr import open_ocr

        return open_ocr(ocr), load_detector()
    except (ImportError, OSError, RuntimeError) as missing:
        raise AgentFailure(str(missing), ErrorOrigin.HARNESS, retriable=False) from missing
