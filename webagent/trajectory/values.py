"""Values from outside: typed looks into JSON of unknown shape, and types of fields.

A look gives the value if it is what it should be, else None; what it is told as the value's name
is noted with what it refuses. Amounts can be written out, and times are those of every calendar.
Where a value does not fit a model it is told without the value, which may be a secret, or hostile.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import AfterValidator, BeforeValidator, ValidationError

Amount = TypeVar("Amount", int, float, Decimal)
_MAX_COUNT = 2**53
_MAX_SECONDS = 253_402_300_799.0  # the end of the year 9999
_MAX_COST = 10**8
_MOST_BITS = 200
_MOST_SHOWN = 80
_MOST_ISO_CHARS = 40
_refused: ContextVar[dict[tuple[str, str], None] | None] = ContextVar("refused", default=None)


@contextmanager
def noting_refused() -> Iterator[None]:
    """While one run is read: what is no number or time where a source should have one is noted."""
    token = _refused.set({})
    try:
        yield
    finally:
        _refused.reset(token)


def refused() -> tuple[tuple[str, str], ...]:
    """What was refused so far while this run is read: what it should be, and how it reads."""
    return tuple(_refused.get() or ())


def mapping(value: Any) -> dict[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The array, or an empty one."""
    return value if isinstance(value, list) else []


def every(value: Any) -> Iterator[Any]:
    """A JSON value and all that is inside it, in the order in which it is written."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        yield item
        if isinstance(item, dict):
            waiting += reversed(item.values())
        elif isinstance(item, list):
            waiting += reversed(item)


def said(content: Any) -> list[str]:
    """The texts of a message's content, which is one itself or has parts; none is empty."""
    if isinstance(content, str):
        return [content] if content else []
    return [words for part in map(mapping, items(content)) if (words := text(part.get("text")))]


def text(value: Any) -> str | None:
    """The text; None if it is none or empty."""
    return value if isinstance(value, str) and value else None


def flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def number(value: Any, name: str = "") -> float | None:
    """The finite number as a float."""
    as_float = _finite(value)
    if as_float is None:
        _refuse(value, name)
    return as_float


def count(value: Any, name: str = "") -> int | None:
    """The number as a whole one that is not negative."""
    as_float = _finite(value)
    if as_float is None or not 0 <= as_float <= _MAX_COUNT:
        _refuse(value, name)
        return None
    return round(as_float)


def counts(values: Mapping[str, Any], **names: str) -> dict[str, Any]:
    """Several counts under names of ours, each of which stands there under its own."""
    return {ours: count(values.get(name), name) for ours, name in names.items()}


def whole(value: Any, name: str = "") -> int | None:
    """The whole number, if it fits 63 bits."""
    if isinstance(value, bool) or not isinstance(value, int) or value.bit_length() > 63:
        _refuse(value, name)
        return None
    return value


def cost(value: Any, name: str = "") -> Decimal | None:
    """An amount of money; what floating point added at the end is rounded away."""
    as_float = _finite(value)
    if as_float is None or not 0 <= as_float <= _MAX_COST:
        _refuse(value, name)
        return None
    return Decimal(repr(round(as_float, 10))).normalize()


def moment(value: Any) -> datetime | None:
    """Seconds since 1970 as a UTC time; 0 and nonsense are None."""
    seconds = _finite(value)
    if seconds is None or not 0 <= seconds < _MAX_SECONDS:
        _refuse(value)
        return None
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def _finite(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        as_float = float(value)
    except OverflowError:
        return None
    return as_float if math.isfinite(as_float) else None


def _refuse(value: Any, name: str = "", what: str = "value") -> None:
    """Note what is given where a number or time is looked for, and is none that can be kept."""
    noted = _refused.get()
    if noted is not None and value is not None and value != "":
        noted.setdefault((what, f"{name}: {_shown(value)}" if name else _shown(value)))


def _shown(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"a number of {value.bit_length()} bits"
    return repr(value)[:_MOST_SHOWN]


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


def iso_moment(value: Any) -> datetime | None:
    """An ISO 8601 time in UTC; None if it is none or names no zone."""
    at = _iso(text(value) or "")
    if at is None:
        _refuse(value, what="time")
    return at


def _iso(words: str) -> datetime | None:
    if len(words) > _MOST_ISO_CHARS:
        return None
    try:
        at = datetime.fromisoformat(words)
    except ValueError:
        return None
    return at.astimezone(UTC) if at.tzinfo and is_of_a_calendar(at) else None


def not_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is None."""
    return {key: value for key, value in values.items() if value is not None}


def not_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is None, empty or 0."""
    return {key: value for key, value in values.items() if value}


def total(amounts: Iterable[Amount | None]) -> Amount | None:
    """The sum of those that are known; None if none is."""
    found = [amount for amount in amounts if amount is not None]
    return sum(found[1:], found[0]) if found else None


class FieldError(NamedTuple):
    """One place of a value that is wrong; `field` is empty for the value as a whole."""

    field: str
    reason: str

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}" if self.field else self.reason


def field_errors(error: ValidationError) -> list[FieldError]:
    """All places that are wrong, in the order in which they were looked at."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [
        FieldError(".".join(map(str, each["loc"])), each["msg"].removeprefix("Value error, "))
        for each in found
    ]


def first_field_error(error: ValidationError) -> FieldError:
    """The first of them."""
    return field_errors(error)[0]
