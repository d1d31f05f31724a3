"""What tokens cost, held against sums made by hand."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webagent.llm.budget import cost_of, count_request, estimate_cost, most_cost, most_input_tokens
from webagent.llm.interface import ImagePart, Message, Request, TextPart, Usage
from webagent.llm.registry import ModelEntry, Prices

PRICES = Prices(
    input=Decimal(2), cached=Decimal("0.5"), cache_write=Decimal("2.5"), output=Decimal(10)
)


def entry(**more: object) -> ModelEntry:
    fields: dict[str, object] = {"name": "j", "provider": "openai", "model": "m", "prices": PRICES}
    return ModelEntry.model_validate(fields | more)


def question(text: str, max_tokens: int = 100, **more: object) -> Request:
    messages = (Message.user(text),)
    return Request(model="j", messages=messages, max_tokens=max_tokens, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(input_tokens=1_000_000), "2"),
        (Usage(input_tokens=1_000_000, output_tokens=1_000_000), "12"),
        (Usage(input_tokens=1_000_000, cached_tokens=1_000_000), "0.5"),
        (Usage(input_tokens=1_000_000, cache_write_tokens=400_000), "2.2"),
        (
            Usage(input_tokens=1000, cached_tokens=300, cache_write_tokens=200, output_tokens=50),
            "0.00215",
        ),
        (Usage(input_tokens=1), "0.000002"),
    ],
)
def test_cost_by_hand(usage: Usage, dollars: str) -> None:
    assert cost_of(usage, PRICES) == Decimal(dollars)


def test_price_of_the_cache_that_is_not_given_is_that_of_input() -> None:
    prices = Prices(input=Decimal(2), output=Decimal(10))
    usage = Usage(input_tokens=1000, cached_tokens=300, cache_write_tokens=200)
    assert cost_of(usage, prices) == Decimal("0.002")


def test_unknown_is_not_zero() -> None:
    assert cost_of(Usage(input_tokens=5), None) is None
    assert cost_of(Usage(), PRICES) is None
    assert estimate_cost(question("x"), entry(prices=None)) is None
    assert most_cost(question("x"), entry(prices=None)) is None


def test_own_server_costs_nothing_and_that_is_known() -> None:
    free = entry(prices={"input": 0, "output": 0})
    assert cost_of(Usage(input_tokens=5, output_tokens=5), free.prices) == 0
    assert most_cost(question("x"), free) == 0


def test_estimate_is_below_the_bound_by_the_reply_that_is_expected() -> None:
    short = estimate_cost(question("x" * 400), entry(), output_tokens=10)
    long = estimate_cost(question("x" * 400), entry())
    most = most_cost(question("x" * 400), entry())
    assert short is not None
    assert long is not None
    assert most is not None
    assert long - short == Decimal(90 * 10) / 1_000_000
    assert short < long < most


def test_picture_counts_the_most_it_may() -> None:
    picture = ImagePart(b"png", "image/png")
    parts = (TextPart("x"), picture, picture)
    with_pictures = Request(model="j", messages=(Message("user", parts),))
    model = entry(max_image_tokens=1500)
    more = most_input_tokens(with_pictures, model) - most_input_tokens(question("x"), model)
    assert more == 3000


def test_bound_stops_at_the_context_of_the_model() -> None:
    assert most_input_tokens(question("x" * 10_000), entry(context_tokens=500)) == 500


@given(st.text(max_size=200), st.text(max_size=50))
def test_bound_is_never_below_the_estimate_nor_below_the_bytes(text: str, system: str) -> None:
    request = question(text, system=system, schema={"type": "object"})
    most = most_input_tokens(request, entry())
    assert most >= count_request(request, entry())
    assert most >= len((text + system).encode())


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(0, 10_000), st.integers(0, 100))
def test_no_usage_within_the_bound_costs_more_than_it(
    plain: int, cached: int, written: int, said: int
) -> None:
    request = question("x" * 30_000)
    usage = Usage(
        input_tokens=plain + cached + written,
        cached_tokens=cached,
        cache_write_tokens=written,
        output_tokens=said,
    )
    spent, most = cost_of(usage, PRICES), most_cost(request, entry())
    assert most is not None
    assert spent is None or spent <= most
