"""Types of fields from outside: amounts that can be written out, times of every calendar."""

from __future__ import annotations

import re
from datetime import MAXYEAR, MINYEAR, date, datetime
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

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


_DATE = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:", re.ASCII)


def is_of_a_calendar(at: date) -> bool:
    """Whether the day or time is far enough from both ends."""
    return MINYEAR < at.year < MAXYEAR


def _written(value: object) -> object:
    """A time in words; numbers may count from anywhere."""
    if isinstance(value, datetime) or (isinstance(value, str) and _DATE.match(value)):
        return value
    raise ValueError("a time as RFC 3339 writes it is needed")


def _checked(at: datetime) -> datetime:
    if not is_of_a_calendar(at):
        raise ValueError(f"a time of the years {MINYEAR + 1} to {MAXYEAR - 1} is needed")
    return at


Moment = Annotated[datetime, BeforeValidator(_written), AfterValidator(_checked)]
"""A time from outside."""
