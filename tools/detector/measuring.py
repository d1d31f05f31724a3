"""How well a detector finds what is there: average precision and recall at IoU 0.5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
