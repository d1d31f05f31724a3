"""What a screenshot costs to read, as a median: text, elements, and both together."""

import io
import statistics
import sys
import time
from pathlib import Path

from PIL import Image

from tools.detector.samples import read_index
from webagent.vision.engines import load_detector, open_ocr
from webagent.vision.reading import ScreenReader

PICTURES = Path(__file__).parents[1] / "data" / "vision"
ROUNDS = 3
CUT_TOP = 75
"""The instruction of MiniWoB++ in pixels of the screenshot."""


def run() -> None:
    reader = ScreenReader(open_ocr(), load_detector(), cut_top=CUT_TOP)
    screenshots = [_png(PICTURES / picture.file) for picture in read_index(PICTURES)]
    reader.read(screenshots[0])  # loads both models
    taken: dict[str, list[float]] = {"whole": [], "ocr": [], "detection": []}
    # Says more than the clock where other programs are at work as well.
    busy_s = -time.process_time()
    for screenshot in screenshots * ROUNDS:
        parts = reader.read(screenshot).milliseconds
        taken["whole"].append(sum(parts.values()))
        taken["ocr"].append(parts["ocr"])
        taken["detection"].append(parts["detection"])
    busy_s += time.process_time()
    for name, values in taken.items():
        worst = max(values)
        sys.stdout.write(
            f"reading a screenshot, {name}: {statistics.median(values):.0f} ms, at most "
            f"{worst:.0f} ms\n"
        )
    each = 1000 * busy_s / len(taken["whole"])
    sys.stdout.write(f"reading a screenshot, processor time: {each:.0f} ms of one core\n")


def _png(path: Path) -> bytes:
    with Image.open(path) as opened:
        written = io.BytesIO()
        opened.convert("RGB").save(written, "PNG")
        return written.getvalue()
