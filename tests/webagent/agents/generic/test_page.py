"""Trees are cut around what matters, to the token, and always the same way."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.webagent.agents.generic.made import long_tree
from webagent.agents.generic.page import Interest, cut_tree
from webagent.llm.budget import count_tokens

NOTE = "… {{lines}} lines left out, {{acting}} of them can be acted on"
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=40)
ROLES = st.sampled_from(["StaticText", "button", "link", "heading", "generic", "textbox"])


@st.composite
def trees(draw: st.DrawFn) -> str:
    lines = ["RootWebArea 'Page'"]
    depth = 0
    for number in range(draw(st.integers(0, 60))):
        depth = draw(st.integers(0, depth + 1))
        bid = f"[{number}] " if draw(st.booleans()) else ""
        lines.append("\t" * depth + f"{bid}{draw(ROLES)} {draw(NAMES)!r}")
    return "\n".join(lines)


@given(trees(), st.integers(0, 600), st.lists(NAMES, max_size=3), st.sets(st.sampled_from("0123")))
@settings(max_examples=150, deadline=None)
@pytest.mark.slow
def test_never_over_and_always_the_same(tree, tokens, texts, bids):
    interest = Interest(tuple(texts), frozenset(bids))
    cut = cut_tree(tree, tokens, interest, NOTE)
    assert count_tokens(cut) <= tokens
    assert cut == cut_tree(tree, tokens, interest, NOTE)
    if count_tokens(tree) <= tokens:
        assert cut == tree


@given(trees(), st.integers(20, 400))
@settings(max_examples=100, deadline=None)
@pytest.mark.slow
def test_lines_keep_their_order_and_their_parents(tree, tokens):
    cut = cut_tree(tree, tokens, Interest(), NOTE).split("\n")
    if cut == [""]:
        return
    whole = iter(tree.split("\n"))
    kept = [line for line in cut if not line.strip("\t").startswith("…")]
    assert all(line in whole for line in kept)
    left_out = sum(int(line.split()[1]) for line in cut if line.strip("\t").startswith("… "))
    assert left_out + len(kept) == len(tree.split("\n"))


def test_the_goals_element_at_the_very_bottom_is_kept():
    tree = long_tree(3000, target="Delete my account")
    cut = cut_tree(tree, 400, Interest(texts=('Click on "Delete my account".',)), NOTE)
    assert "[z1] button 'Delete my account'" in cut
    assert "[z0] group 'Last part'" in cut
    assert cut.startswith("RootWebArea")
    assert "lines left out" in cut


def test_the_focused_element_and_its_neighbours_are_kept():
    lines = long_tree(3000).split("\n")
    lines[2000] = "\t[f] textbox 'Here', focused"
    cut = cut_tree("\n".join(lines), 300, Interest(bids=frozenset({"f"})), NOTE)
    assert "[f] textbox" in cut
    assert lines[1999] in cut
    assert lines[2001] in cut


def test_what_can_be_acted_on_comes_before_plain_text():
    tree = long_tree(1000)
    cut = cut_tree(tree, 800, Interest(), NOTE)
    assert all(f"[b{index}]" in cut for index in range(49, 1000, 50))
    assert cut.count("StaticText") < 30


def test_notes_tell_how_much_is_missing_and_how_much_could_be_acted_on():
    tree = "RootWebArea 'P'\n" + "\n".join(
        f"\t[{n}] button 'a button with a rather long name {n}'" for n in range(100)
    )
    cut = cut_tree(tree, 60, Interest(), NOTE)
    assert "lines left out, " in cut
    gone = int(cut.split("… ")[1].split()[0])
    assert f"… {gone} lines left out, {gone} of them" in cut


@pytest.mark.parametrize("tokens", [0, 1, 5])
def test_no_room_at_all_gives_nothing_or_a_note(tokens):
    cut = cut_tree(long_tree(50), tokens, Interest(), NOTE)
    assert count_tokens(cut) <= tokens


def shop_tree() -> str:
    """300 articles in a table, with a price and a button each; 'Copper kettle' is the 171st."""
    lines = ["RootWebArea 'Shop', focused", "\t[t] table ''"]
    for number in range(300):
        name = "Copper kettle" if number == 170 else f"Copper bowl {number}"
        lines += [
            f"\t\t[r{number}] row ''",
            f"\t\t\t[n{number}] link {name!r}",
            f"\t\t\t[p{number}] cell '{number + 1000} EUR'",
            f"\t\t\t[b{number}] button 'Add to cart'",
        ]
    return "\n".join(lines)


@pytest.mark.parametrize("goal", ['Buy the "Copper kettle".', "Buy the copper kettle, please."])
def test_what_the_goal_names_is_kept_with_the_rest_of_its_row(goal):
    cut = cut_tree(shop_tree(), 250, Interest(texts=(goal,)), NOTE)
    assert "[n170] link 'Copper kettle'" in cut
    assert "[p170] cell '1170 EUR'" in cut
    assert "[b170] button 'Add to cart'" in cut


def test_what_is_in_view_comes_before_what_is_not():
    in_view = frozenset({"r200", "n200", "p200", "b200"})
    cut = cut_tree(shop_tree(), 200, Interest(in_view=in_view), NOTE)
    assert "[p200] cell" in cut
    assert "[b200] button" in cut


@pytest.mark.parametrize(
    ("goal", "kept"),
    [
        ("Press 'OK'.", "[z1] button 'OK'"),
        ("「保存する」を押してください。", "[z1] button '保存する'"),
    ],
)
def test_words_are_found_whole_and_without_blanks_too(goal, kept):
    books = "\n".join(f"\t[k{n}] button 'Bookshelf {n} 押して'" for n in range(200))
    name = kept.partition("button ")[2]
    tree = f"RootWebArea 'Shop'\n{books}\n\t[z0] group ''\n\t\t[z1] button {name}\n{books}"
    assert kept in cut_tree(tree, 80, Interest(texts=(goal,)), NOTE)


def test_a_note_is_no_longer_than_what_it_stands_for():
    lines = [line for n in range(200) for line in (f"\t[b{n}] button 'Go {n}'", "\tListMarker '•'")]
    cut = cut_tree("\n".join(["RootWebArea 'P'", *lines]), 400, Interest(), NOTE)
    assert "… 1 lines" not in cut
    assert cut.count("ListMarker") > 10
