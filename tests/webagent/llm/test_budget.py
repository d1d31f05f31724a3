"""A budget never overspends, whoever asks it and in whatever order."""

import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webagent.llm.budget import Budget
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
