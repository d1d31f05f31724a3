"""Times that every calendar here can hold, in every zone.

A time at the very beginning or end of what a `datetime` holds has no UTC, or none that a page
could show in the zone of its site: nothing that comes from outside may be such a one.
"""

from __future__ import annotations

from datetime import MAXYEAR, MINYEAR, date, datetime
from typing import Annotated

from pydantic import AfterValidator


def is_of_a_calendar(at: date) -> bool:
    """Whether the day or time is far enough from both ends."""
    return MINYEAR < at.year < MAXYEAR


def _checked(at: datetime) -> datetime:
    if not is_of_a_calendar(at):
        raise ValueError(f"a time of the years {MINYEAR + 1} to {MAXYEAR - 1} is needed")
    return at


Moment = Annotated[datetime, AfterValidator(_checked)]
"""A time from outside."""
