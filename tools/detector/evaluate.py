"""Measure a detector on labelled pictures, as its training does; needs no PyTorch.

Average precision and recall are those at IoU 0.5.

python -m tools.detector.dataset DATA --seeds 0 --made 0
python -m tools.detector.evaluate DATA
"""

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from tools.detector.samples import INDEX, SEEN, UNSEEN, LabelledPicture, read_index
from webagent.vision.engines import MODEL, THRESHOLD, OnnxDetector
from webagent.vision.screen import KINDS, Element

IOU = 0.5
# The least confidence that counts for the curve of precision over recall.
FLOOR = 0.02


@dataclass(frozen=True)
class Shown:
    """One picture: what is on it, and what was found, the surest first."""

    there: Sequence[Element]
    found: Sequence[Element]


def figures(shown: Sequence[Shown], threshold: float) -> dict[str, object]:
    """mAP at IoU 0.5, and recall and precision at the threshold, in all and of each kind.

    `recall` wants the box and the kind, `recall_of_boxes` the box alone.
    """
    kinds = {}
    for kind in KINDS:
        of_kind = [Shown(_only(s.there, kind), _only(s.found, kind)) for s in shown]
        there = sum(len(s.there) for s in of_kind)
        if there:
            kinds[kind] = {
                "elements": there,
                "average_precision": round(average_precision(of_kind), 4),
                "recall": round(_recall(of_kind, threshold), 4),
            }
    precisions = [float(entry["average_precision"]) for entry in kinds.values()]
    hits, found = _hits(shown, threshold, named=True)
    return {
        "pictures": len(shown),
        "elements": sum(len(s.there) for s in shown),
        "mAP": round(sum(precisions) / len(precisions), 4) if precisions else None,
        "recall": _share(hits, sum(len(s.there) for s in shown)),
        "recall_of_boxes": _share(
            _hits(shown, threshold, named=False)[0], sum(len(s.there) for s in shown)
        ),
        "precision": _share(hits, found),
        "kinds": kinds,
    }


def recall_of_tasks(shown: Mapping[str, Sequence[Shown]], threshold: float) -> dict[str, float]:
    """The recall of each task that has elements."""
    return {
        task: round(_recall(pictures, threshold), 4)
        for task, pictures in sorted(shown.items())
        if any(picture.there for picture in pictures)
    }


def matched(
    there: Sequence[Element], found: Sequence[Element], *, named: bool
) -> list[Element | None]:
    """For each one found, the surest first, the element it is; each is taken only once.

    With `named` the kinds have to agree too.
    """
    left = list(there)
    matches: list[Element | None] = []
    for candidate in sorted(found, key=lambda e: -e.confidence):
        fitting = [e for e in left if not named or e.kind == candidate.kind]
        best = max(fitting, key=lambda e: e.box.iou(candidate.box), default=None)
        if best is None or best.box.iou(candidate.box) < IOU:
            matches.append(None)
        else:
            left.remove(best)
            matches.append(best)
    return matches


def average_precision(shown: Sequence[Shown]) -> float:
    """The area under the curve of the best precision at each recall; for pictures of one kind."""
    judged = [
        (candidate.confidence, match is not None)
        for s in shown
        for candidate, match in zip(
            sorted(s.found, key=lambda e: -e.confidence),
            matched(s.there, s.found, named=True),
            strict=True,
        )
    ]
    total = sum(len(s.there) for s in shown)
    judged.sort(key=lambda pair: -pair[0])
    hits = 0
    precisions = []
    for rank, (_, is_hit) in enumerate(judged, start=1):
        hits += is_hit
        if is_hit:
            precisions.append(hits / rank)
    best = 0.0
    area = 0.0
    for precision in reversed(precisions):
        best = max(best, precision)
        area += best
    return area / total


def _recall(shown: Sequence[Shown], threshold: float) -> float:
    return _hits(shown, threshold, named=True)[0] / sum(len(s.there) for s in shown)


def _hits(shown: Sequence[Shown], threshold: float, *, named: bool) -> tuple[int, int]:
    """How many were found as they are, and how many were found at all."""
    hits = found = 0
    for s in shown:
        sure = [e for e in s.found if e.confidence >= threshold]
        found += len(sure)
        hits += sum(match is not None for match in matched(s.there, sure, named=named))
    return hits, found


def _only(elements: Sequence[Element], kind: str) -> list[Element]:
    return [element for element in elements if element.kind == kind]


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


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
