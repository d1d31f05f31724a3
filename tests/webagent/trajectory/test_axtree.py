"""Accessibility trees: read back from text, and compared between two looks at a page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webagent.pages import LOGIN_TREE
from webagent.trajectory.axtree import (
    page_fingerprint,
    parse_axtree,
    places_of,
    role_and_text,
    stable_tree,
    stable_url,
    subtree,
)


def test_lines_become_nodes():
    nodes = parse_axtree(LOGIN_TREE)
    bids = [node.bid or "-" for node in nodes]
    assert " ".join(bids) == "- 14 15 - 16 17 18 - 19 20"
    assert [node.depth for node in nodes] == [0, 1, 2, 3, 2, 1, 2, 3, 2, 1]
    root, button, text_box = nodes[0], nodes[-1], nodes[-2]
    assert root.properties["url"] == "http://miniwob.localhost/miniwob/login-user.html"
    assert (button.role, button.name) == ("button", "Login")
    assert button.has("clickable")
    assert not button.has("checked")
    assert not button.has("focused")
    assert text_box.value == 'it\'s "so"'
    assert text_box.has("focused")
    assert nodes[7].name == "Password's"


def test_numbers_and_parts_without_a_name():
    spin, part = parse_axtree(
        "[14] spinbutton 'Month' value=0, valuemin=1\n\t[3] generic, clickable=True"
    )
    assert (spin.value, spin.properties) == ("0", {"valuemin": "1"})
    assert (part.role, part.name, part.bid) == ("generic", "", "3")
    assert part.has("clickable")


@pytest.mark.parametrize("line", ["", "no node, this", "[1 button 'x'", "\t\t", "[5] button 'open"])
def test_other_lines_are_left_out(line):
    assert parse_axtree(f"[1] button 'one'\n{line}\n[2] button 'two'")[-1].bid == "2"
    assert len(parse_axtree(f"[1] button 'one'\n{line}\n[2] button 'two'")) == 2


def test_the_part_of_the_tree_below_a_node():
    nodes = parse_axtree(LOGIN_TREE)
    assert [node.role for node in subtree(nodes, 1)] == ["LabelText", "StaticText", "textbox"]
    assert subtree(nodes, 9) == ()


@pytest.mark.parametrize(
    ("bid", "expected"),
    [
        ("20", ("button", "Login")),
        ("16", ("textbox", None)),
        ("19", ("textbox", 'it\'s "so"')),
        ("14", ("paragraph", "Username")),
        ("99", (None, None)),
    ],
)
def test_role_and_text_of_an_element(bid, expected):
    assert _role_and_text(LOGIN_TREE, bid) == expected


def test_the_text_of_many_parts_is_cut_where_one_text_would_be():
    parts = [f"\t\tStaticText '{number:09}'" for number in range(40)]
    tree = "\n".join(("[1] generic", "\t[2] generic", *parts, "\t[3] button 'After'"))
    whole = " ".join(f"{number:09}" for number in range(40))
    for bid in ("1", "2"):
        assert _role_and_text(tree, bid) == ("generic", whole[:300])
    few = "\n".join(("[1] generic", *parts[:3], "[2] button 'After'"))
    assert _role_and_text(few, "1") == ("generic", whole[:29])


def test_a_long_line_is_read_in_time_linear_to_its_length():
    text = "[1] button '" + "\\'" * 200_000 + "', a=" + "b" * 200_000
    assert len(parse_axtree(text)) == 1


def _role_and_text(tree: str, bid: str) -> tuple[str | None, str | None]:
    nodes = parse_axtree(tree)
    return role_and_text(nodes, places_of(nodes).get(bid))


URL = "http://shop.test/list?page=2&q=a"
names = st.text(min_size=1, max_size=20)
rows = st.lists(st.tuples(st.sampled_from(["link", "button", "StaticText"]), names), max_size=12)


def tree(content: list[tuple[str, str]], first_id: int = 1, focused: int | None = None) -> str:
    """As BrowserGym writes it."""
    lines = ["RootWebArea 'Page', url='http://shop.test/?x=1'"]
    for number, (role, name) in enumerate(content):
        flag = ", focused" if number == focused else ""
        lines.append(f"\t[{first_id + number}] {role} {name!r}{flag}, checked='false'")
    return "\n".join(lines)


@given(rows, st.integers(0, 11))
def test_ids_and_focus_make_no_difference(content: list[tuple[str, str]], focused: int) -> None:
    once = page_fingerprint(URL, tree(content))
    again = page_fingerprint(URL, tree(content, first_id=700, focused=focused))
    assert once == again
    assert len(once) == 32


@given(rows, names, names)
def test_another_text_makes_another_fingerprint(
    content: list[tuple[str, str]], one: str, other: str
) -> None:
    """Unless the texts differ by a clock alone, which random texts never do."""
    same = page_fingerprint(URL, tree([*content, ("link", one)])) == page_fingerprint(
        URL, tree([*content, ("link", other)])
    )
    assert same == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("value='a'", "value='b'"),
        ("checked='false'", "checked='true'"),
        ("button 'Login'", "button 'Logout'"),
        ("'Login User Task'", "'Login, focused'"),
    ],
)
def test_values_states_and_texts_count(one: str, other: str) -> None:
    page = LOGIN_TREE.replace("value='it\\'s \"so\"'", "value='a'")
    assert one in page
    assert page_fingerprint(URL, page) != page_fingerprint(URL, page.replace(one, other))


def test_order_and_depth_count() -> None:
    assert page_fingerprint(URL, "a 'x'\nb 'y'") != page_fingerprint(URL, "b 'y'\na 'x'")
    assert page_fingerprint(URL, "a 'x'\n\tb 'y'") != page_fingerprint(URL, "a 'x'\nb 'y'")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Updated 12:03:59", "Updated 12:04:02"),
        ("2026-01-02T03:04:05Z", "2026-11-21 10:00"),
        ("3 minutes ago", "just now"),
        ("5分前", "7 時間前"),
    ],
)
def test_clocks_make_no_difference(one: str, other: str) -> None:
    assert stable_tree(f"StaticText {one!r}") == stable_tree(f"StaticText {other!r}")


@pytest.mark.parametrize(
    ("one", "other"),
    [("Page 2 of 9", "Page 3 of 9"), ("12:05", "12:06"), ("2026-01-02", "2026-01-03")],
)
def test_numbers_that_may_be_data_do(one: str, other: str) -> None:
    assert stable_tree(f"StaticText {one!r}") != stable_tree(f"StaticText {other!r}")


def test_references_to_other_elements_make_no_difference() -> None:
    one = "[3] combobox 'x', expanded=True, controls=':r1:', url='http://a/?s=1'"
    other = "[4] combobox 'x', focused, expanded=True, controls=':r9:', url='http://a/?s=2'"
    assert stable_tree(one) == stable_tree(other) == "combobox 'x', expanded=True"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a/x?b=2&a=1", "http://a/x?a=1&b=2"),
        ("http://a/x?a=1&sid=77", "http://a/x?a=1"),
        ("http://a/x;jsessionid=1A?a=1&utm_source=mail&_=16", "http://a/x?a=1"),
    ],
)
def test_sessions_and_order_of_parameters_make_no_difference(one: str, other: str) -> None:
    assert stable_url(one) == stable_url(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a/x?page=1", "http://a/x?page=2"),
        ("http://a/#/one", "http://a/#/two"),
        ("http://a/x", "http://b/x"),
        ("http://a/x?sys_id=0123456789abcdef", "http://a/x?sys_id=1123456789abcdef"),
    ],
)
def test_everything_else_in_an_address_does(one: str, other: str) -> None:
    assert stable_url(one) != stable_url(other)


def test_other_tabs_count_and_bad_addresses_do_no_harm() -> None:
    assert page_fingerprint(URL, "") != page_fingerprint(URL, "", ["http://a/"])
    assert stable_url("http://[bad") == "http://[bad"


@given(st.text(max_size=300))
def test_any_text_has_a_fingerprint(text: str) -> None:
    assert page_fingerprint(text, text) == page_fingerprint(text, text)
