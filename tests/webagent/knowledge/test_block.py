"""The block that agents read: whole entries, the relevant first, never over the budget."""

from hypothesis import given, settings
from hypothesis import strategies as st

from webagent.agents.generic.knowledge import Selection, knowledge_block
from webagent.knowledge.entries import Entry
from webagent.llm.budget import count_tokens

ENTRIES = [
    Entry(intent="Sort a list", ok="Click the column head.", ng="The menu has no sorting."),
    Entry(intent="Search the catalogue", ng="Typing alone does nothing."),
    Entry(intent="Log in", ok="Use the link.", ng="The form is hidden."),
]


def block(goal: str = "Search for a book in the catalogue", budget: int = 1000, **more: object):
    return knowledge_block(ENTRIES, goal=goal, budget=budget, **more)  # type: ignore[arg-type]


def test_all_of_it_in_order():
    found = block()
    assert found.text.splitlines() == [
        "- Sort a list",
        "  Works: Click the column head.",
        "  Does not work: The menu has no sorting.",
        "- Search the catalogue",
        "  Does not work: Typing alone does nothing.",
        "- Log in",
        "  Works: Use the link.",
        "  Does not work: The form is hidden.",
    ]
    assert found.shown == (0, 1, 2)


def test_the_relevant_alone_best_first():
    assert block(selection=Selection.RELEVANT).shown[0] == 1
    assert block("the catalogue", selection=Selection.RELEVANT).shown == (1,)
    assert block("log in and sort the list", selection=Selection.RELEVANT, top=1).shown in (
        (0,),
        (2,),
    )
    assert block("the one of the day", selection=Selection.RELEVANT).shown == ()
    assert block("buy bread", selection=Selection.RELEVANT).text == ""


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 120))
def test_no_budget_is_overrun(budget: int):
    found = block(budget=budget)
    assert count_tokens(found.text) <= found.tokens <= budget
