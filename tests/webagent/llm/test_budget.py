"""What requests cost and how long they are."""

import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webagent.llm.budget import Budget, count_tokens, fitting
from webagent.llm.interface import FailureKind, ModelFailure

amounts = st.decimals(min_value=0, max_value=3, places=4)


@settings(max_examples=60, deadline=None)
@given(
    limit=st.decimals(min_value=0, max_value=10, places=4),
    calls=st.lists(st.tuples(amounts, st.floats(0, 1)), max_size=40),
)
def test_threads_never_spend_more_than_the_limit(
    limit: Decimal, calls: list[tuple[Decimal, float]]
) -> None:
    budget = Budget(limit)
    lock = threading.Lock()
    aside, spent, most_aside = Decimal(0), Decimal(0), Decimal(0)

    def call(amount: Decimal, share: float) -> bool:
        nonlocal aside, spent, most_aside
        cost = (amount * Decimal(share)).quantize(Decimal("0.0001"))
        cost = min(cost, amount)
        try:
            with budget.reserve(amount) as reservation:
                with lock:
                    aside += amount
                    most_aside = max(most_aside, aside + spent)
                reservation.settle(cost)
                with lock:
                    aside -= amount
                    spent += cost
        except ModelFailure as failure:
            return failure.kind is not FailureKind.OUT_OF_BUDGET
        return True

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(call, *zip(*calls, strict=True))) if calls else []
    assert most_aside <= limit
    assert budget.spent == spent <= limit
    for (amount, _), fitted in zip(calls, results, strict=True):
        if not fitted:
            assert spent + amount > limit, "a call was refused that would fit now"


def test_all_is_spent_unless_said_otherwise() -> None:
    budget = Budget(Decimal(1))
    with pytest.raises(KeyboardInterrupt), budget.reserve(Decimal("0.4")):
        raise KeyboardInterrupt
    assert budget.spent == Decimal("0.4")


def test_dearer_than_thought_counts_as_it_is() -> None:
    """Nothing can be done about the past, but nothing more is spent."""
    budget = Budget(Decimal(1))
    with budget.reserve(Decimal("0.5")) as reservation:
        reservation.settle(Decimal(2))
    assert budget.spent == 2
    with pytest.raises(ModelFailure), budget.reserve(Decimal(0)):
        pass


def test_refusal_says_what_is_left() -> None:
    budget = Budget(Decimal(5), spent=Decimal("4.75"))
    with pytest.raises(ModelFailure, match=r"\$0.5000.*\$5.0000.*\$0.2500") as caught:
        budget.reserve(Decimal("0.5")).__enter__()
    assert caught.value.kind is FailureKind.OUT_OF_BUDGET


def test_waiting_call_is_refused_when_the_others_used_it_up() -> None:
    budget = Budget(Decimal(1))
    waiting = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        with budget.reserve(Decimal(1)) as reservation:

            def second() -> FailureKind | None:
                waiting.set()
                try:
                    with budget.reserve(Decimal("0.5")):
                        return None
                except ModelFailure as failure:
                    return failure.kind

            result = pool.submit(second)
            assert waiting.wait(60)
            assert not result.done()
            reservation.settle(Decimal("0.6"))
        assert result.result(timeout=60) is FailureKind.OUT_OF_BUDGET


@pytest.mark.parametrize("limit", ["-1", "NaN", "Infinity"])
def test_limit_is_a_sum_of_money(limit: str) -> None:
    with pytest.raises(ValueError, match="number of dollars"):
        Budget(Decimal(limit))


ANY = st.text(st.characters(), max_size=200)


@given(ANY, ANY)
def test_joining_never_costs_more(one, other):
    assert count_tokens(one + other) <= count_tokens(one) + count_tokens(other)
    assert count_tokens(f"{one}\n{other}") <= count_tokens(one) + 1 + count_tokens(other)


@given(ANY, st.integers(0, 50))
def test_what_is_made_to_fit_fits(text, tokens):
    assert count_tokens(fitting(text, tokens)) <= tokens


def test_fitting_keeps_beginning_and_end():
    text = "begins " + "and goes on " * 200 + "ends"
    cut = fitting(text, 60)
    assert cut.startswith("begins")
    assert cut.endswith("ends")
    assert "left out" in cut


@pytest.mark.parametrize(
    ("text", "at_least", "at_most"),
    [
        ("The quick brown fox jumps over the lazy dog.", 10, 14),
        ("[a51] button 'Add to cart', clickable, visible", 13, 22),
        ("0123456789", 5, 5),
        ("日本語のページ", 7, 14),
        ("", 0, 0),
    ],
)
def test_counts_are_near_what_tokenizers_say(text, at_least, at_most):
    assert at_least <= count_tokens(text) <= at_most


def test_pages_count_more_than_a_fourth_of_their_characters():
    line = "\t\t[a512] link '3.4.1', url='http://a.test/x?y=1&z=2', focused\n"
    assert count_tokens(line * 50) > len(line * 50) / 4


def test_prose_counts_somewhat_more_than_it_has():
    text = (
        "The reference answer and the answer of the agent mean the same if a careful reader"
        " who knows the task would accept either of them as a correct and complete reply to the"
        " question that was asked at the beginning of it."
    )
    by_o200k = 43
    assert by_o200k <= count_tokens(text) < 1.3 * by_o200k
