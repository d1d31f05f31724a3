import pytest

from tests.webagent.pages import LOGIN_TREE
from webagent.trajectory.axtree import parse_axtree, places_of, role_and_text, subtree


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
