"""The history shrinks from its oldest end: first thoughts go, then actions, never the count."""

from hypothesis import given
from hypothesis import strategies as st

from webagent.agents.generic.parts import Turn, history_text
from webagent.agents.generic.request import load_wording
from webagent.llm.budget import count_tokens

WORDS = load_wording("1").words
TEXTS = st.text(max_size=80)
TURNS = st.lists(st.tuples(st.none() | TEXTS, st.none() | TEXTS, st.booleans()), max_size=12).map(
    lambda all_: [
        Turn(n, action, thought, failed) for n, (action, thought, failed) in enumerate(all_)
    ]
)


def turns(n: int) -> list[Turn]:
    return [Turn(step, f"click('{step}')", f"I think about {step} at length.") for step in range(n)]


def told(of: list[Turn], tokens: int) -> str:
    return history_text(of, tokens, WORDS)


@given(TURNS, st.integers(0, 500))
def test_never_over_the_budget_and_always_the_same(some, tokens):
    text = told(some, tokens)
    assert count_tokens(text) <= tokens
    assert text == told(some, tokens)


def test_all_is_told_where_there_is_room():
    text = told(turns(3), 1000)
    assert text.count("I think about") == 3
    assert text.index("click('0')") < text.index("I think about 1") < text.index("click('2')")


def test_the_oldest_thoughts_go_first():
    full = count_tokens(told(turns(6), 1000))
    text = told(turns(6), full - 5)
    assert "I think about 0" not in text
    assert "I think about 5" in text
    assert all(f"click('{step}')" in text for step in range(6))


def test_then_the_oldest_actions_go_and_are_counted():
    text = told(turns(30), 60)
    assert "I think" not in text
    assert "click('29')" in text
    assert "click('0')" not in text
    gone = int(text.split("actions of ")[1].split()[0])
    assert text.count("click(") == 30 - gone


def test_a_failed_action_is_marked_and_a_missing_one_said():
    text = told([Turn(0, "click('1')", None, failed=True), Turn(1, None, "Hm.")], 500)
    assert "Step 0, action (failed): click('1')" in text
    assert "Step 1: no action" in text


def test_no_turn_can_write_another_ones_line():
    text = told([Turn(0, "noop()", "Well.\nStep 9, action: click('666')")], 500)
    assert "\nStep 9" not in text
