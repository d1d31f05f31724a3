"""Where kinds of elements were told wrongly: what the goal, the page and the agent's text say.

Only where the kind is what tells a thing apart: one that the goal names by its text is found
whatever it was taken for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from runs.launching.seen_screens import Edges, PageElement, Piece

Point = tuple[float, float]

MOST = 12
"""Elements of which it is said that they were told as another kind."""
LEAST_IOU = 0.5
"""A kind is told of an element by a box that is about the same."""
TEXT_BOX, TEXT_AREA = "text box", "text area"
FAMILIES: Mapping[str, str] = {
    "checked checkbox": "checkbox",
    "selected radio button": "radio button",
    "close button": "button",
    "tab": "section header",
}
"""Kinds of an agent's text that are as good as another one; what is on and what is not is no
matter of kinds."""
ROLES: Mapping[str, str] = {
    "checkbox": "checkbox",
    "radio": "radio button",
    "button": "button",
    "tab": "section header",
}
"""What pages call them. Heads of sections are tabs there."""
_NOUNS: tuple[tuple[str, str], ...] = (
    (r"text ?areas?", TEXT_AREA),
    (r"text ?box(?:es)?", TEXT_BOX),
    (r"check ?box(?:es)?", "checkbox"),
    (r"radio(?: buttons?)?", "radio button"),
    (r"sections?|tabs?", "section header"),
    (r"buttons?", "button"),
)
_WIDGETS: Mapping[str, str] = {
    "text": TEXT_BOX,
    "textarea": TEXT_AREA,
    "checkbox": "checkbox",
    "radio": "radio button",
    "button": "button",
}
_WIDGET = re.compile(r'"(\w+)" widget')
_NUMBER = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b", re.IGNORECASE)
_NAME = r'(?:"[^"]*"|#\w+|[A-Z]\w*)'


def family_wanted(goal: str) -> str | None:
    """The one kind that the goal names a thing by; None if by several, or by what it reads."""
    if widget := _WIDGET.search(goal):
        return _WIDGETS.get(widget[1])
    found, words = set[str](), goal
    for noun, family in _NOUNS:
        named = rf"(?i:\b(?:{noun})\b)"
        words = re.sub(rf"{named}\s+{_NAME}|\"[^\"]*\"\s+{named}", " ", words)
        words, times = re.subn(named, " ", words)
        found |= {family} if times else set()
    return found.pop() if len(found) == 1 else None


def wanted(goal: str, elements: Sequence[PageElement]) -> list[PageElement]:
    """What the goal names by its kind alone: any of these will do, but of a number only the last.

    Nothing where the page does not tell kinds apart well enough.
    """
    family = family_wanted(goal)
    if family is None:
        return []
    if family in {TEXT_BOX, TEXT_AREA} and any(_is_unclear(each) for each in elements):
        return []
    found = [each for each in elements if _family_of(each) == family]
    found.sort(key=lambda one: (one.box[1], one.box[0]))
    if number := _NUMBER.search(goal):
        count = int(number[1])
        return found[:count] if count <= len(found) else []
    return found


def acted_on_wanted(goal: str, elements: Sequence[PageElement], points: Sequence[Point]) -> bool:
    """Whether the agent found what it was to find: then no kind led it astray."""
    found = wanted(goal, elements)
    meant = found[-1:] if _NUMBER.search(goal) else found
    return any(holds(each.box, point) for each in meant for point in points)


def told_as_another(
    *,
    goal: str,
    elements: Sequence[PageElement],
    pieces: Sequence[Piece],
    points: Sequence[Point],
) -> list[tuple[PageElement, str]]:
    """What was told as a kind that it is not, with that kind, where this led the agent astray.

    It acted on something since it was told as what the goal asks for; or on nothing, since nothing
    was; or it counted wrongly, since not all were.

    Args:
        elements: what was to be seen of the page.
        points: where the agent acted on this screen, on nothing of what the goal asks for.
    """
    there = wanted(goal, elements)
    family = _family_of(there[0]) if there else None
    if family is None:
        return []
    touched = [each for each in elements if any(holds(each.box, point) for point in points)]
    if misled := _taken_for(family, touched, pieces):
        return misled[:MOST]
    missed = _not_told_as(family, there, pieces)
    had_another = bool(points) or len(missed) < len(there)
    if had_another and _NUMBER.search(goal) is None:
        return []
    return [(each, ", ".join(kinds)) for each, kinds in missed if kinds][:MOST]


def _taken_for(
    family: str, elements: Sequence[PageElement], pieces: Sequence[Piece]
) -> list[tuple[PageElement, str]]:
    """Those of another kind that were told as one of this kind, with the kind told."""
    return [
        (each, kind)
        for each in elements
        if _family_of(each) not in {None, family}
        for kind in _kinds_on(each.box, pieces)
        if _family(kind) == family
    ]


def _not_told_as(
    family: str, elements: Sequence[PageElement], pieces: Sequence[Piece]
) -> list[tuple[PageElement, list[str]]]:
    """Those that were not told as what they are, with the kinds that were told; none if unseen."""
    told = ((each, _kinds_on(each.box, pieces)) for each in elements)
    return [(each, kinds) for each, kinds in told if family not in map(_family, kinds)]


def _is_unclear(element: PageElement) -> bool:
    return element.role == "textbox" and element.multiline is None


def _family_of(element: PageElement) -> str | None:
    """What the element is by the page; None where that is none of these kinds."""
    if element.role == "textbox":
        return TEXT_AREA if element.multiline else TEXT_BOX
    return ROLES.get(element.role or "")


def _family(kind: str) -> str:
    return FAMILIES.get(kind, kind)


def _kinds_on(box: Edges, pieces: Sequence[Piece]) -> list[str]:
    """The kinds that were told of the element in the box; bare text is none."""
    told = (each for each in pieces if each.kind != "text")
    return sorted({each.kind for each in told if iou(each.box, box) >= LEAST_IOU})


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
