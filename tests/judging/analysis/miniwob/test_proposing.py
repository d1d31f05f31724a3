"""Vision is proposed where the page shows that something needed was not seen, and only there."""

from typing import Any

import pytest

from judging.analysis.miniwob.needed import acted_on_wanted, told_as_another
from judging.analysis.miniwob.proposing import proposal_for
from runs.viewer.timeline.step_details import PageElement, Piece
from tests.runs.viewer.told_screens import make_told_run, piece

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("screens, and no query of its own")]
OK, NEXT = [20, 80, 60, 110], [20, 120, 80, 150]


def proposed(*pieces: dict[str, Any]) -> list[tuple[object, object, object]]:
    proposal = proposal_for(make_told_run(list(pieces)))
    found: Any = proposal.get("findings", [])
    assert bool(found) is (proposal.get("cause") == "vision")
    return [(each["fault"], each["text"], each["read"]) for each in found]


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        ([piece("Ok", OK), piece("Next", NEXT)], []),
        # The other button is not needed, whatever was read of it.
        ([piece("ok", [22, 84, 58, 108])], []),
        # Its words stand beside it, as a checkbox's do.
        ([piece("", OK), piece("Ok", [70, 85, 100, 105], "text")], []),
        ([piece("Next", NEXT)], [("not_detected", "Ok", "")]),
        ([piece("0h", OK)], [("misread", "Ok", "0h")]),
        ([piece("", OK)], [("misread", "Ok", "")]),
        ([], [("not_detected", "Ok", "")]),
    ],
)
def test_what_was_needed_is_what_the_plan_acts_on(pieces: Any, found: Any) -> None:
    assert proposed(*pieces) == found


@pytest.mark.parametrize(
    ("box", "found"),
    [
        ([0, 70, 100, 100], []),
        ([40, 80, 100, 110], []),  # over the end of its text
        # Most of the button is still to be seen.
        ([0, 70, 100, 90], [("misread", "Ok", "Maybe")]),
    ],
)
def test_what_lies_under_a_menu_was_not_to_be_seen(box: list[int], found: Any) -> None:
    menu = {"bid": "9", "role": "list", "text": "Maybe", "box": box}
    run = make_told_run([piece("Maybe", [10, 82, 70, 108], "text")], over=[menu])
    findings: Any = proposal_for(run).get("findings", [])
    assert [(each["fault"], each["text"], each["read"]) for each in findings] == found


def element(text: str, y: int, role: str = "textbox", **more: Any) -> PageElement:
    return PageElement(bid=text, role=role, text=text, box=(0, y, 100, y + 20), **more)


def told(kind: str, y: int) -> Piece:
    return Piece(kind=kind, text="", box=(2, y + 1, 104, y + 21))


AREA, BOX = element("area", 0, multiline=True), element("box", 40, multiline=False)
HEAD, TICK = element("Section #1", 80, "tab"), element("tick", 120, "checkbox")
PAGE = [AREA, BOX, HEAD, TICK]
# As four pages of MiniWoB++ were told: areas as boxes, heads of sections as options.
TOLD = [
    told("text box", 0),
    told("text box", 40),
    told("option", 80),
    told("checked checkbox", 120),
]


@pytest.mark.parametrize(
    ("goal", "points", "found"),
    [
        ('Click on a "textarea" widget.', [], [("area", "text box")]),
        ('Click on a "text" widget.', [(50, 10)], [("area", "text box")]),
        ('Click on a "text" widget.', [], []),  # the box was told as one
        ('Click on a "checkbox" widget.', [], []),  # whether it is on is no kind
        ('Expand the sections, to click on the link "x".', [], [("Section #1", "option")]),
        # It took something else for what it was to do, which may have been to reason wrongly.
        ('Expand the sections, to click on the link "x".', [(50, 50)], []),
        ("Focus into the 2nd text area.", [], []),
        ("Focus into the 1st text area.", [], [("area", "text box")]),
        # What the goal names by what it reads is found whatever it was taken for.
        ('Click on the tab "Section #1".', [], []),
        ("Click on section Section.", [], []),
        ("Copy the text area into the text box.", [], []),
    ],
)
def test_a_wrong_kind_counts_where_the_goal_asks_for_a_kind(
    goal: str, points: Any, found: list[tuple[str, str]]
) -> None:
    another = told_as_another(goal=goal, elements=PAGE, pieces=TOLD, points=points)
    assert [(each.text, kind) for each, kind in another] == found


def test_of_what_was_acted_on_no_kind_led_astray() -> None:
    goal = "Expand the section."
    assert acted_on_wanted(goal, PAGE, [(50, 90)])
    assert not acted_on_wanted(goal, PAGE, [(50, 50)])


def test_text_boxes_of_old_runs_are_not_told_from_text_areas() -> None:
    unclear = [each.model_copy(update={"multiline": None}) for each in (AREA, BOX)]
    goal = 'Click on a "textarea" widget.'
    assert not told_as_another(goal=goal, elements=unclear, pieces=TOLD, points=[])


def test_a_wrong_kind_is_proposed_with_what_it_was_told_as() -> None:
    box, at = "textbox", [20, 160, 90, 190]
    field = {"bid": "9", "role": box, "text": "Hm", "box": at, "multiline": False}
    pieces = [piece("Ok", OK, "text box"), piece("Next", NEXT), piece("Hm", at, "text box")]
    goal = 'Click on a "text" widget.'
    run = make_told_run(pieces, over=[field], goal=goal, page="click-widget")
    findings: Any = proposal_for(run)["findings"]
    assert [(each["fault"], each["text"], each["read"]) for each in findings] == [
        ("other_kind", "Ok", "text box")
    ]


def test_signs_that_the_goal_quotes_are_read_or_not() -> None:
    signs = {"bid": "9", "role": "button", "text": "♥♥", "box": [20, 160, 90, 190]}
    goal, box = 'Click on the "♥♥" button.', [20, 160, 90, 190]
    for read, proposed_cause in (("♥♥", None), ("44", "vision"), ("", "vision")):
        run = make_told_run([piece(read, box)], over=[signs], goal=goal)
        assert proposal_for(run).get("cause") == proposed_cause
