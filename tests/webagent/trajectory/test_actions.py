import time

import pytest

from webagent.trajectory.actions import (
    MAX_ACTION_CHARS,
    ActionKind,
    action_kind,
    message_text,
    parse_browsergym_actions,
)
from webagent.trajectory.records import ActionRecord, Point, Target


def only(raw: str) -> ActionRecord:
    (action,) = parse_browsergym_actions(raw)
    return action


@pytest.mark.parametrize(
    ("raw", "name", "args"),
    [
        ("click('13')", "click", ("13",)),
        ("""fill("a51", "it's \\"so\\"\\nhere")""", "fill", ("a51", 'it\'s "so"\nhere')),
        ("mouse_click(10, -20.5)", "mouse_click", (10, -20.5)),
        ("noop()", "noop", ()),
        ("select_option('c48', ['red', 'green',],)", "select_option", ("c48", ["red", "green"])),
        ("f((1, 2), {'key': None}, True)", "f", ([1, 2], {"key": None}, True)),
        ("send_msg_to_user('''two\nlines''')", "send_msg_to_user", ("two\nlines",)),
        ("  click(\n    '13'  # the blue one (really)\n  )", "click", ("13",)),
        ("I think that page.click('13') is right, isn't it", "click", ("13",)),
        ("wrapped(click('13'))", "click", ("13",)),
        ("press('a', ')')", "press", ("a", ")")),
        ("keyboard_type('\\d+')", "keyboard_type", ("\\d+",)),
        ("fill('\\ud800', 'a\\x00b')", "fill", ("?", "a\ufffdb")),
    ],
)  # fmt: skip
def test_a_call_is_read_from_literals(raw, name, args):
    action = only(raw)
    assert (action.name, action.args) == (name, args)
    assert action.raw == raw
    assert action.dialect == "browsergym"


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "click",
        "click(",
        "click('13'",
        "click('13']",
        "click(bid)",
        "click('a' + 'b')",
        "click(*['13'])",
        "click(**{'bid': '13'})",
        "click([x for x in 'ab'])",
        "click('13' for _ in ())",
        "click(1e999)",
        "click(b'13')",
        "click({'13'})",
        "click(99999999999999999999)",
        "# click('13')",
        "click(" + "[" * 500 + "]" * 500 + ")",
        "click('" + "x" * MAX_ACTION_CHARS + "')",
        "\0",
    ],
)
def test_what_is_no_call_of_literals_has_no_name(raw):
    action = only(raw)
    assert action.name is None
    assert action.args == ()
    assert action.raw == raw


def test_nothing_in_the_text_is_run(tmp_path):
    marker = tmp_path / "run"
    parse_browsergym_actions(f"click(open({str(marker)!r}, 'w'))")
    assert not marker.exists()


def test_several_calls_keep_the_whole_text():
    raw = "First:\nfill('3', 'x')\n# now click('9')\nclick('4') scroll(0, 20)\nDone."
    actions = parse_browsergym_actions(raw)
    assert [action.name for action in actions] == ["fill", "click", "scroll"]
    assert "".join(str(action.raw) for action in actions) == raw


def test_named_arguments_are_kept_and_understood():
    action = only("""click(bid='b22', button="right", modifiers=['Shift'])""")
    assert action.named_args == {"bid": "b22", "button": "right", "modifiers": ["Shift"]}
    assert action.target == Target(bid="b22")


@pytest.mark.parametrize(
    ("raw", "bid", "point"),
    [
        ("drag_and_drop('56', '498')", "56", None),
        ("click(56)", None, None),
        ("mouse_click(10, y=2)", None, Point(x=10, y=2)),
        ("mouse_drag_and_drop(1, 2, 3, 4)", None, Point(x=1, y=2)),
        ("scroll_at(5, 6, 0, 100)", None, Point(x=5, y=6)),
        ("mouse_click(True, 3)", None, None),
        ("mouse_click('10')", None, None),
        ("send_msg_to_user('13')", None, None),
    ],
)
def test_target_and_point_say_what_the_call_says(raw, bid, point):
    action = only(raw)
    assert (action.target.bid if action.target else None) == bid
    assert action.point == point


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        ("dblclick('3')", ActionKind.CLICK),
        ("mouse_down(5, 6)", ActionKind.CLICK),
        ("mouse_move(5, 6)", ActionKind.POINT),
        ("hover('3')", ActionKind.POINT),
        ("focus('3')", ActionKind.POINT),
        ("select_option('3', 'x')", ActionKind.TYPE),
        ("go_back()", ActionKind.NAV),
        ("scroll(0, 3)", ActionKind.SCROLL),
        ("keyboard_press('Enter')", ActionKind.KEY),
        ("report_infeasible('no')", ActionKind.MESSAGE),
        ("noop()", ActionKind.WAIT),
        ("tab_focus(1)", ActionKind.TAB),
        ("tap('3')", ActionKind.OTHER),
        ("nothing to read", ActionKind.OTHER),
    ],
)
def test_each_action_has_a_kind(raw, kind):
    assert action_kind(only(raw)) is kind


def test_the_text_of_a_message():
    assert message_text(only("send_msg_to_user('hello')")) == "hello"
    assert message_text(only("report_infeasible(reason='no such page')")) == "no such page"
    assert message_text(only("send_msg_to_user(3)")) is None
    assert message_text(only("fill('3', 'hello')")) is None


@pytest.mark.parametrize("piece", ["f(", "f('", "f(#", 'f("""', "f(-", "click('1')"])
def test_hostile_text_takes_bounded_time(piece):
    begin = time.process_time()
    parse_browsergym_actions(piece * (MAX_ACTION_CHARS // len(piece)))
    assert time.process_time() - begin < 5
