"""Which actions look like writes: a table."""

import pytest

from tests.webagent.pages import observation
from webagent.trajectory.actions import parse_browsergym_actions
from webagent.trajectory.recording import recorded_actions
from webagent.trajectory.records import Target
from webagent.trajectory.writes import write_kind


def clicked(role: str, text: str, action: str = "click('7')") -> str | None:
    tree = f"RootWebArea 'x'\n\t[7] {role} {text!r}"
    return write_kind(recorded_actions(action, observation(tree), ()))


@pytest.mark.parametrize(
    ("role", "text", "kind"),
    [
        ("button", "Delete", "delete"),
        ("button", "Delete order", "delete"),
        ("link", "Remove item", "delete"),
        ("button", "Cancel order", "delete"),
        ("menuitem", "Move to trash", "delete"),
        ("button", "Buy now", "pay"),
        ("button", "Place Order", "pay"),
        ("button", "Proceed to Checkout", "pay"),
        ("button", "Confirm payment", "pay"),
        ("button", "Send", "send"),
        ("button", "Post comment", "send"),
        ("button", "Publish", "send"),
        ("button", "Attach file", "upload"),
        ("button", "Create issue", "create"),
        ("button", "Add to Cart", "create"),
        ("button", "Sign up", "create"),
        ("button", "Save changes", "save"),
        ("button", "Update", "save"),
        ("button", "Upvote", "save"),
        ("button", "Yes", "confirm"),
        ("button", "Confirm", "confirm"),
        ("button", "Submit", "submit"),
        ("generic", "Submit", "submit"),
        ("button", "削除する", "delete"),
        ("button", "購入手続きへ", "pay"),
        ("button", "送信", "send"),
        ("button", "変更を保存", "save"),
        ("button", "登録", "create"),
    ],
)
def test_what_looks_like_a_write(role: str, text: str, kind: str) -> None:
    assert clicked(role, text) == kind


@pytest.mark.parametrize(
    ("role", "text"),
    [
        ("button", "Search"),
        ("button", "Apply filter"),
        ("button", "Cancel"),
        ("button", "Close"),
        ("button", "Next"),
        ("button", "Login"),
        ("button", "Show payment methods"),
        ("button", "Postponed"),
        ("link", "Create issue"),
        ("link", "New arrivals"),
        ("link", "Home"),
        ("link", "Order history"),
        ("button", ""),
        ("checkbox", "Delete"),
        ("StaticText", "Delete"),
        ("link", "How to delete all your posts and send them to your friends at home"),
        ("button", "検索"),
    ],
)
def test_what_only_looks(role: str, text: str) -> None:
    assert clicked(role, text) is None


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        ("hover('7')", None),
        ("fill('7', 'Delete')", None),
        ("focus('7')", None),
        ("dblclick('7')", "delete"),
        ("press('7', 'Enter')", "delete"),
        ("press('7', 'Escape')", None),
        ("click('99')", None),
        ("noop()", None),
        ("send_msg_to_user('Delete')", None),
        ("goto('http://a/items/5/delete')", "delete"),
        ("goto('http://a/items?q=delete')", None),
        ("scroll(0, 5)\nclick('7')", "delete"),
        ("upload_file('3', '/tmp/x')", "upload"),
        ("no action", None),
    ],
)
def test_it_depends_on_what_is_done(action: str, kind: str | None) -> None:
    assert clicked("button", "Delete", action) == kind


@pytest.mark.parametrize(
    ("role", "text", "kind"),
    [
        ("textbox", "Your name", "submit"),
        ("textbox", "Search", None),
        ("searchbox", "", None),
        ("button", "Pay", "pay"),
        ("link", "Home", None),
    ],
)
def test_enter_sends_the_form_that_has_the_focus(role: str, text: str, kind: str | None) -> None:
    calls = parse_browsergym_actions("keyboard_press('Enter')")
    assert write_kind(calls, Target(bid="7", role=role, text=text)) == kind
    assert write_kind(calls) is None
