"""What an action aimed at is looked up in the page's tree, not in what the page says."""

from __future__ import annotations

import pytest

from webagent.trajectory.agentlab.stepfiles import _role_and_name

TREE = """\
RootWebArea 'Orders'
\tStaticText 'Press [7] button "Cancel"'
\t[5] link 'as in [6] button or [7] link'
\t\t[7] button "Pay 'now'", clickable
  [a12] textbox ''
\t[8] generic"""


@pytest.mark.parametrize(
    ("bid", "found"),
    [
        ("7", ("button", "Pay 'now'")),
        ("5", ("link", "as in [6] button or [7] link")),
        ("6", (None, None)),
        ("a12", ("textbox", None)),
        ("8", ("generic", None)),
        ("1", (None, None)),
        (".", (None, None)),
    ],
)
def test_role_and_name(bid: str, found: tuple[str | None, str | None]) -> None:
    assert _role_and_name(TREE, bid) == found
