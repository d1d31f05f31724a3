"""How boxes on a screenshot stand to one another."""

from __future__ import annotations

from runs.launching.carrying_out.seen_screens import Edges


def area(box: Edges) -> float:
    """Its pixels."""
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def shared(one: Edges, other: Edges) -> float:
    """The pixels that both hold."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, across) * max(0.0, down)


def iou(one: Edges, other: Edges) -> float:
    """The pixels both hold among those either holds, 0 to 1."""
    both = shared(one, other)
    either = area(one) + area(other) - both
    return both / either if either > 0 else 0.0


def middle(box: Edges) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def holds(box: Edges, point: tuple[float, float]) -> bool:
    x, y = point
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]
