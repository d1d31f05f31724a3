"""Which elements of a page a task needs, and where their kinds were told wrongly.

The agent is not asked: plans say what is needed, or the goal's words, or the page.

`webagent.agents.scripted` reads the page and solves tasks that it knows; what it would act on is
what the agent needed to see. Elsewhere it is what carries a text that the goal quotes.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice

from runs.viewer.timeline.step_details import Edges, PageElement, PageSeen, Piece
from webagent.agents.reading import quoted
from webagent.agents.scripted import Oracle
from webagent.trajectory.actions import parse_browsergym_actions
from webagent.trajectory.live import Observation
from webagent.trajectory.records import Box

MOST = 12
"""Elements of one page: a plan that goes on for longer waits for what this page never shows, and
a page may repeat a text without end."""
LEAST_SIDE = 3
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def needed_elements(*, goal: str, url: str, tree: str, page: PageSeen) -> list[PageElement]:
    """What must be acted on, as far as it can be told and is within the picture."""
    by_bid = {each.bid: each for each in page.elements if _in_sight(each, page)}
    seen = _observation(goal, url, tree, page)
    bids = _planned(seen)
    if bids:
        return [by_bid[bid] for bid in bids if bid in by_bid]
    return _quoted(goal, list(by_bid.values()))


def _planned(seen: Observation) -> list[str]:
    """What the oracle's plan acts on while the page stays as it is."""
    oracle, found = Oracle(), dict[str, None]()
    for _ in range(MOST):
        decision = oracle.act(seen)
        if decision.action is None:
            break
        for call in parse_browsergym_actions(decision.action):
            if call.target is not None and call.target.bid is not None:
                found[call.target.bid] = None
    return list(found)


def _quoted(goal: str, elements: Sequence[PageElement]) -> list[PageElement]:
    wanted = {folded(text) for text in quoted(goal)} - {""}
    found = (each for each in elements if folded(each.text) in wanted)
    return list(islice(found, MOST))


def _observation(goal: str, url: str, tree: str, page: PageSeen) -> Observation:
    return Observation(
        at=_NEVER,
        goal=goal,
        url=url,
        title="",
        tabs=(),
        screenshot=b"",
        width=int(page.size[0]),
        height=int(page.size[1]),
        axtree=tree,
        boxes={
            each.bid: Box(x=x1, y=y1, width=x2 - x1, height=y2 - y1)
            for each in page.elements
            for x1, y1, x2, y2 in (each.box,)
        },
    )


def _in_sight(element: PageElement, page: PageSeen) -> bool:
    x1, y1, x2, y2 = element.box
    across, down = min(x2, page.size[0]) - max(x1, 0), min(y2, page.size[1]) - max(y1, 0)
    return min(across, down) >= LEAST_SIDE


@lru_cache(maxsize=1024)
def folded(text: str) -> str:
    """The text as it is compared: without case, spaces and what stands around words."""
    return re.sub(r"[\W_]+", "", text.casefold())


Point = tuple[float, float]

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
    unclear = (each.role == "textbox" and each.multiline is None for each in elements)
    if family in {TEXT_BOX, TEXT_AREA} and any(unclear):
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
    *, goal: str, elements: Sequence[PageElement], pieces: Sequence[Piece], points: Sequence[Point]
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
