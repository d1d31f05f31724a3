"""Numbers in forms: what is taken, and what is said of the rest."""

from decimal import Decimal

import pytest
from django import forms

from runs.launching.form_fields import AmountField, WholeNumberField
from runs.models.parsing import read_number

WHOLE = WholeNumberField(min_value=1, max_value=20_000)
PERHAPS = WholeNumberField(min_value=0, max_value=9, required=False)
AMOUNT = AmountField(min_value=Decimal("0.5"), max_value=Decimal(2000), decimal_places=2)


@pytest.mark.parametrize(
    ("field", "words", "value"),
    [
        (WHOLE, " 12 ", 12),
        (WHOLE, "20,000", 20_000),
        (PERHAPS, "", None),
        (AMOUNT, "1,234.50", Decimal("1234.50")),
    ],
)
def test_numbers_as_people_write_them(field: forms.Field, words: str, value: object) -> None:
    assert field.clean(words) == value


@pytest.mark.parametrize("words", ["", "0", "20001", "1.5", "many", "1e3", "-1", "9" * 5000])
def test_of_anything_else_it_is_said_what_to_enter(words: str) -> None:
    with pytest.raises(forms.ValidationError, match=r"Enter a whole number from 1 to 20,000\.'"):
        WHOLE.clean(words)


def test_what_may_be_empty_names_the_same_ends() -> None:
    assert PERHAPS.clean("") is None
    with pytest.raises(forms.ValidationError, match=r"from 0 to 9\."):
        PERHAPS.clean("ten")
    with pytest.raises(forms.ValidationError, match=r"Enter a number from 0\.5 to 2,000\."):
        AMOUNT.clean("0.499")


def test_a_browser_sends_what_was_typed_even_if_it_is_no_number() -> None:
    class Form(forms.Form):
        n = WHOLE

    assert 'type="text"' in str(Form()["n"])
    assert 'inputmode="numeric"' in str(Form()["n"])


@pytest.mark.parametrize("words", ["", "-1", "1.5", "\u0663", "\u00b2", "9" * 19, "9" * 5000])
def test_addresses_name_rows_by_few_plain_digits(words: str) -> None:
    """Digits of other scripts are numbers to `int`, but no address can be made with them."""
    assert (read_number(words), read_number("7")) == (None, 7)
