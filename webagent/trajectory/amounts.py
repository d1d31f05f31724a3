"""Amounts as exact decimals, of a length that can be written out."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator

MOST_PLACES = 60
"""Digits before the decimal point, and behind it."""


def short_decimal(value: Decimal) -> Decimal:
    """The same amount: `1e-99999999` is a few characters, and written out 100 MB.

    Raises:
        ValueError: it takes more digits before or behind the decimal point than an amount has.
    """
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise ValueError("is no finite number")
    if exponent < -MOST_PLACES or value.adjusted() >= MOST_PLACES:
        raise ValueError(f"has more than {MOST_PLACES} digits before or behind the decimal point")
    return value


Money = Annotated[Decimal, AfterValidator(short_decimal)]
