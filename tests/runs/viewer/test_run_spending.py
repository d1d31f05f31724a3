"""What a run's page says of tokens and money: sums, and unknown prices by name."""

import re
from decimal import Decimal

import pytest

from tests.runs.factories import client_of, make_run, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]


@pytest.mark.parametrize(
    ("cost", "unpriced", "said"),
    [
        (Decimal("0.0067"), 0, "<dd>$0.0067</dd>"),
        (Decimal("0.0067"), 2, "<dd>at least $0.0067 (2 calls of unknown price)</dd>"),
        (None, 3, "<dd>price unknown</dd>"),
    ],
)
def test_tokens_and_cost_are_told_and_an_unknown_price_is_named(
    cost: Decimal | None, unpriced: int, said: str
) -> None:
    record = {"totals": {"cached_tokens": 4810}, "extra": {"unpriced_calls": unpriced}}
    run = make_run(input_tokens=7844, output_tokens=93, cost=cost, record=record)
    page = client_of(make_user("engineer")).get(f"/runs/{run.pk}/").content.decode()
    assert "7,844 tokens in, 93 out (4,810 of them cached)" in page
    assert said in page


def test_a_run_without_models_has_neither_tokens_nor_an_unknown_price() -> None:
    run = make_run(record={"extra": "anything"})
    page = client_of(make_user("engineer")).get(f"/runs/{run.pk}/").content.decode()
    assert "<dt>Tokens</dt>" not in page
    assert re.search(r"<dt>Cost</dt>\s*<dd>—</dd>", page)
