"""Measure a detector on labelled pictures, as its training does; needs no PyTorch.

python -m tools.detector.dataset DATA --seeds 0 --made 0
python -m tools.detector.evaluate DATA
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from PIL import Image

from tools.detector.labelled import INDEX, SEEN, UNSEEN, LabelledPicture, read_index
from tools.detector.measuring import FLOOR, Shown, figures, recall_of_tasks
from webagent.vision.detector import MODEL, THRESHOLD, OnnxDetector

_NAMES = ("pictures", "elements", "mAP", "recall", "recall_of_boxes", "precision")


def measure(
    path: Path, directory: Path, pictures: Sequence[LabelledPicture]
) -> dict[str, dict[str, object] | float]:
    """The figures of an exported network on the pictures of seen and of unseen tasks.

    A part of which there is no picture is left out.
    """
    detector = OnnxDetector(path, FLOOR)
    measured: dict[str, dict[str, object] | float] = {"threshold": THRESHOLD}
    seconds = []
    for part in (SEEN, UNSEEN):
        shown: dict[str, list[Shown]] = defaultdict(list)
        for picture in pictures:
            if picture.part != part:
                continue
            with Image.open(directory / picture.file) as opened:
                image = opened.convert("RGB")
            started = time.perf_counter()
            found = detector.find(image)
            seconds.append(time.perf_counter() - started)
            shown[picture.task].append(Shown(picture.elements, found))
        if shown:
            measured[part] = {
                **figures([s for of_task in shown.values() for s in of_task], THRESHOLD),
                "recall_of_tasks": recall_of_tasks(shown, THRESHOLD),
            }
    if seconds:
        measured["milliseconds_median"] = round(1000 * statistics.median(seconds), 1)
    return measured


def told(measured: Mapping[str, object]) -> str:
    """A line for each part, as far as there is one."""
    lines = []
    for part in (SEEN, UNSEEN):
        given = measured.get(part)
        if isinstance(given, dict):
            lines.append(f"{part}: " + ", ".join(f"{name} {given[name]}" for name in _NAMES))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tools.detector.evaluate")
    parser.add_argument("data", type=Path, help="where tools.detector.dataset put its pictures")
    parser.add_argument("--model", type=Path, default=MODEL, help="another than the one that ships")
    parser.add_argument("--json", action="store_true", help="every kind and every task too")
    arguments = parser.parse_args()
    there = read_index(arguments.data) if (arguments.data / INDEX).is_file() else []
    pictures = [p for p in there if p.part in (SEEN, UNSEEN)]
    if not pictures:
        parser.error(f"{arguments.data} holds no pictures to test on.")
    measured = measure(arguments.model, arguments.data, pictures)
    said = json.dumps(measured, indent=2) if arguments.json else told(measured)
    sys.stdout.write(said + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
