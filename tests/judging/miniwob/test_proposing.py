"""Vision is proposed where the page shows that something needed was not seen, and only there."""

from __future__ import annotations

from typing import Any

import pytest

from judging.miniwob.proposing import proposal_for
from tests.runs.told_screens import make_told_run, piece

pytestmark = pytest.mark.django_db
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
        ([], [("not_detected", "Ok", "")]),
    ],
)
def test_what_was_needed_is_what_the_plan_acts_on(pieces: Any, found: Any) -> None:
    assert proposed(*pieces) == found


@pytest.mark.parametrize(
    ("box", "found"),
    [
        ([0, 70, 100, 100], []),
        # Most of the button is still to be seen.
        ([0, 70, 100, 90], [("misread", "Ok", "Maybe")]),
    ],
)
def test_what_lies_under_a_menu_was_not_to_be_seen(box: list[int], found: Any) -> None:
    menu = {"bid": "9", "role": "list", "text": "Maybe", "box": box}
    run = make_told_run([piece("Maybe", [10, 82, 70, 108], "text")], over=[menu])
    findings: Any = proposal_for(run).get("findings", [])
    assert [(each["fault"], each["text"], each["read"]) for each in findings] == found
