"""Times that every calendar here can hold, in every zone.

A time at the very beginning or end of what a `datetime` holds has no UTC, or none that a page
could show in the zone of its site: nothing that comes from outside may be such a one.
"""

from __future__ import annotations

import re
from datetime import MAXYEAR, MINYEAR, date, datetime
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

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
