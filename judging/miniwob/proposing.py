"""Mechanical proposals: where the page shows that the agent did not see what it needed.

Only vision is ever proposed. That everything needed was read rightly does not tell whether it was
reasoning that failed, or the environment: that is for people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from judging.miniwob.needed import folded, needed_elements
from judging.models import FailureCause
from runs.blobs import MissingBlobError, read_blob
from runs.models import Run, Step
from runs.seen_screens import MAX_BYTES, Edges, PageElement, Piece, page_seen, seen_screen
from webagent.trajectory.records import Json

MOST_STEPS = 10
ALIKE = 0.9
"""How alike two texts must be to be the same, 0 to 1: a letter in ten may be misread."""
MOST_COMPARED = 300
"""Letters of either text: these may come from anywhere, and be made to take long."""
LEAST_IOU = 0.3
COVERED = 0.5
"""How much of an element must be hidden for its text to be past reading."""
FIELDS = ("textbox", "searchbox", "spinbutton", "Date", "InputTime")


class Fault(StrEnum):
    """What was wrong with how a needed element was seen."""

    NOT_DETECTED = "not_detected"
    MISREAD = "misread"


@dataclass(frozen=True, slots=True)
class Finding:
    """One needed element that was not seen as it is; `read` is what was read in its place."""

    step: int
    fault: Fault
    role: str
    text: str
    box: Edges
    read: str = ""

    def as_json(self) -> Json:
        return {
            "step": self.step,
            "fault": self.fault.value,
            "role": self.role,
            "text": self.text,
            "box": list(self.box),
            "read": self.read,
        }


def proposal_for(run: Run) -> Json:
    """`cause` and `findings` where vision failed by what was recorded; empty where nothing shows.

    The latest step on which something needed was not seen is the one that speaks.
    """
    steps = run.steps.filter(state=Step.State.LIVE).order_by("-index")[:MOST_STEPS]
    for step in steps:
        if findings := step_findings(step, run.goal):
            return {
                "cause": FailureCause.VISION.value,
                "findings": [each.as_json() for each in findings],
            }
    return {}


def step_findings(step: Step, goal: str) -> list[Finding]:
    """What the agent needed on this screen and did not see; nothing where it cannot be told."""
    screen, page = seen_screen(step), page_seen(step)
    if screen is None or page is None or step.tree is None or step.tree.size > MAX_BYTES:
        return []
    try:
        tree = read_blob(step.tree).decode("utf-8", "replace")
    except MissingBlobError:
        return []
    needed = needed_elements(goal=goal, url=step.url, tree=tree, page=page)
    bare = (each for each in needed if not _is_covered(each, page.elements))
    found = (_finding(step.index, each, screen.pieces) for each in bare)
    return [each for each in found if each is not None]


def _is_covered(needed: PageElement, elements: Sequence[PageElement]) -> bool:
    """Whether something else lies over it, such as a menu that opened: it was not to be seen.

    The page does not say what is above. What comes later in it is, as a rule, and is no box that
    holds the element; its own parts say nothing that it does not.
    """
    later = elements[elements.index(needed) + 1 :]
    own, half = folded(needed.text), COVERED * _area(needed.box)
    return any(
        _shared(each.box, needed.box) >= half and folded(each.text) not in own for each in later
    )


def _finding(step: int, needed: PageElement, pieces: Sequence[Piece]) -> Finding | None:
    over = [each for each in pieces if _is_over(each.box, needed.box)]
    near = [each for each in pieces if _is_beside(each.box, needed.box)]
    if needed.text and any(_reads(each.text, needed.text) for each in near):
        return None
    read = " ".join(each.text for each in over if each.text)
    # What somebody typed into a field needs no reading, and an icon's name stands nowhere on it.
    can_misread = folded(needed.text) and read and needed.role not in FIELDS
    if over and not can_misread:
        return None
    return Finding(
        step=step,
        fault=Fault.MISREAD if over else Fault.NOT_DETECTED,
        role=needed.role or "",
        text=needed.text,
        box=needed.box,
        read=read,
    )


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
    shared = _shared(seen, element)
    both = _area(seen) + _area(element) - shared
    if both > 0 and shared / both >= LEAST_IOU:
        return True
    x, y = (seen[0] + seen[2]) / 2, (seen[1] + seen[3]) / 2
    return element[0] <= x <= element[2] and element[1] <= y <= element[3]


def _is_beside(seen: Edges, element: Edges) -> bool:
    """Whether a piece stands on the element or on its line, as labels do."""
    middle = (element[1] + element[3]) / 2
    return _shared(seen, element) > 0 or seen[1] <= middle <= seen[3]


def _shared(one: Edges, other: Edges) -> float:
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, across) * max(0.0, down)


def _area(box: Edges) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])
