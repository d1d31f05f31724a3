"""Mechanical proposals: where the page shows that the agent did not see what it needed.

Only vision is ever proposed. That everything needed was read rightly does not tell whether it was
reasoning that failed, or the environment: that is for people.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from functools import cached_property

from django.db import models
from django.utils.translation import gettext_lazy as _
from pydantic import JsonValue

from judging.analysis.miniwob.needed import (
    Point,
    acted_on_wanted,
    area,
    folded,
    holds,
    iou,
    middle,
    needed_elements,
    shared,
    told_as_another,
)
from judging.models import FailureCause
from runs.models import Run, Step
from runs.storage.blobs import MissingBlobError, read_blob
from runs.viewer.timeline.step_details import (
    MAX_BYTES,
    Edges,
    PageElement,
    PageSeen,
    Piece,
    page_seen,
    seen_screen,
)
from webagent.agents.reading import quoted
from webagent.trajectory.actions import parse_browsergym_actions
from webagent.trajectory.records import Json

MOST_STEPS = 10
MOST_ELEMENTS = 300
ALIKE = 0.9
"""How alike two texts must be to be the same, 0 to 1: a letter in ten may be misread."""
MOST_COMPARED = 300
"""Letters of either text: these may come from anywhere, and be made to take long."""
LEAST_IOU = 0.3
LEAST_LETTER = 6
"""Pixels that a letter takes: what is narrower than its text is a picture with a name."""
COVERED = 0.5
"""How much of an element must be hidden for its text to be past reading."""
FIELDS = ("textbox", "searchbox", "spinbutton", "Date", "InputTime")


class Fault(models.TextChoices):
    """What was wrong with how a needed element was seen."""

    NOT_DETECTED = "not_detected", _("was not detected")
    MISREAD = "misread", _("was misread")
    OTHER_KIND = "other_kind", _("was told as another kind")


@dataclass(frozen=True, slots=True)
class Finding:
    """One element that mattered and was not seen as it is.

    `read` is what was read in its place, or the kind that it was told as.
    """

    step: int
    fault: Fault
    role: str
    text: str
    box: Edges
    read: str = ""


def proposal_for(run: Run) -> Json:
    """`cause` and `findings` where vision failed by what was recorded; empty where nothing shows.

    The latest step on which something needed was not seen is the one that speaks.
    """
    steps = run.steps.filter(state=Step.State.LIVE).order_by("-index")[:MOST_STEPS]
    screens = [known for step in steps if (known := _known(step)) is not None]
    misled = not any(acted_on_wanted(run.goal, on.bare, on.points) for on in screens)
    for screen in screens:
        findings = _unseen(screen, run.goal) or (_other_kinds(screen, run.goal) if misled else [])
        if findings:
            told: JsonValue = [asdict(each) | {"box": list(each.box)} for each in findings]
            return {"cause": FailureCause.VISION.value, "findings": told}
    return {}


@dataclass(frozen=True)
class _Screen:
    """A step as the page says it was, what the agent was told of it, and where the agent acted."""

    step: Step
    tree: str
    page: PageSeen
    pieces: Sequence[Piece]
    points: Sequence[Point]

    @cached_property
    def bare(self) -> Sequence[PageElement]:
        """What nothing else lay over; nothing of a page that is too large to compare each."""
        every = self.page.elements if len(self.page.elements) <= MOST_ELEMENTS else []
        return [each for each in every if not _is_covered(each, every)]


def _known(step: Step) -> _Screen | None:
    """None where what the agent saw, or what there was to see, was not kept."""
    screen, page = seen_screen(step), page_seen(step)
    if screen is None or page is None or step.tree is None or step.tree.size > MAX_BYTES:
        return None
    try:
        tree = read_blob(step.tree).decode("utf-8", "replace")
    except MissingBlobError:
        return None
    calls = parse_browsergym_actions(step.action)
    points = [(call.point.x, call.point.y) for call in calls if call.point is not None]
    return _Screen(step, tree, page, screen.pieces, points)


def _unseen(on: _Screen, goal: str) -> list[Finding]:
    """What the agent needed on this screen and did not see; nothing where it cannot be told."""
    needed = needed_elements(goal=goal, url=on.step.url, tree=on.tree, page=on.page)
    bare = (each for each in needed if not _is_covered(each, on.page.elements))
    found = (_finding(on.step.index, each, on.pieces, goal) for each in bare)
    return [each for each in found if each is not None]


def _other_kinds(on: _Screen, goal: str) -> list[Finding]:
    """What was told as another kind, where the goal asks for a kind."""
    found = told_as_another(goal=goal, elements=on.bare, pieces=on.pieces, points=on.points)
    return [
        Finding(
            step=on.step.index,
            fault=Fault.OTHER_KIND,
            role="text area" if each.multiline else each.role or "",
            text=each.text,
            box=each.box,
            read=kind,
        )
        for each, kind in found
    ]


def _is_covered(needed: PageElement, elements: Sequence[PageElement]) -> bool:
    """Whether something else lies over it, such as a menu that opened: it was not to be seen.

    The page does not say what is above. What comes later in it is, as a rule, and is no box that
    holds the element; its own parts say nothing that it does not. Over its middle it hides what
    stands there.
    """
    later = elements[elements.index(needed) + 1 :]
    own, half = folded(needed.text), COVERED * area(needed.box)
    return any(
        (shared(each.box, needed.box) >= half or holds(each.box, middle(needed.box)))
        and folded(each.text) not in own
        for each in later
    )


def _finding(step: int, needed: PageElement, pieces: Sequence[Piece], goal: str) -> Finding | None:
    over = [each for each in pieces if _is_over(each.box, needed.box)]
    near = [each for each in pieces if _is_beside(each.box, needed.box)]
    if needed.text and any(_reads(each.text, needed.text) for each in near):
        return None
    read = " ".join(each.text for each in over if each.text)
    # What somebody typed into a field needs no reading, and an icon's name stands nowhere on it;
    # signs do if the goal quotes them, and words that it quotes if there is room for them.
    is_quoted = needed.text in quoted(goal) and _has_room(needed)
    can_misread = is_quoted or (folded(needed.text) and read)
    if over and (needed.role in FIELDS or not can_misread):
        return None
    return Finding(
        step=step,
        fault=Fault.MISREAD if over else Fault.NOT_DETECTED,
        role=needed.role or "",
        text=needed.text,
        box=needed.box,
        read=read,
    )


def _has_room(element: PageElement) -> bool:
    return element.box[2] - element.box[0] >= LEAST_LETTER * len(element.text)


def _reads(read: str, text: str) -> bool:
    one, other = folded(read), folded(text)
    if not other:
        return read.strip() == text.strip()
    if other in one:
        return True
    matcher = SequenceMatcher(None, one[:MOST_COMPARED], other[:MOST_COMPARED], autojunk=False)
    # The quick ones are never below the last, which takes the product of both lengths.
    ratios = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)
    return all(ratio() >= ALIKE for ratio in ratios)


def _is_over(seen: Edges, element: Edges) -> bool:
    """Whether a piece stands where the element is."""
    return iou(seen, element) >= LEAST_IOU or holds(element, middle(seen))


def _is_beside(seen: Edges, element: Edges) -> bool:
    """Whether a piece stands on the element or on its line, as labels do."""
    return shared(seen, element) > 0 or seen[1] <= middle(element)[1] <= seen[3]
