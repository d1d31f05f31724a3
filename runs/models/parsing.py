"""What addresses and forms hold, as far as it makes sense."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from math import isfinite
from typing import TypeVar
from uuid import UUID

from django.utils.formats import number_format
from django.utils.translation import gettext as _

Choice = TypeVar("Choice", bound=StrEnum)

LONGEST_NUMBER = 18
"""Digits of the largest number that every database takes for a key."""


def read_number(text: str) -> int | None:
    """The number of a row as an address or a form names it; None for what names none."""
    # Other scripts have digits too, but no address of ours is written with them.
    is_number = text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER
    return int(text) if is_number else None


class QueryError(ValueError):
    """A value behind the question mark of an address is none that the page knows.

    Args:
        name: of the value in the address.
        takes: a sentence on what it may be, where that can be said.
    """

    def __init__(self, name: str, takes: str = "") -> None:
        super().__init__(f"{name} has no such value")
        self.name = name
        self.takes = takes


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Within it, a value of that name that raises ValueError raises QueryError."""
    try:
        yield
    except QueryError:
        raise
    except ValueError as error:
        raise QueryError(name) from error


def read_whole(query: Mapping[str, str], name: str, low: int, high: int) -> int | None:
    """A whole number of an address, within bounds; None where none is given.

    Raises:
        QueryError: it is no such number.
    """
    if not (given := query.get(name)):
        return None
    # Few digits: text of any length is read in a moment.
    found = int(given) if given.isdecimal() and len(given) <= LONGEST_NUMBER else None
    if found is None or not low <= found <= high:
        raise QueryError(
            name, _("Enter a whole number from %(low)s to %(high)s.") % _ends(low, high)
        )
    return found


def read_amount(query: Mapping[str, str], name: str, low: int, high: int) -> float | None:
    """The same of a number with decimals.

    Raises:
        QueryError: it is no such number.
    """
    if not (given := query.get(name)):
        return None
    try:
        found = float(given)
    except ValueError:
        found = float("nan")
    if not isfinite(found) or not low <= found <= high:
        raise QueryError(name, _("Enter a number from %(low)s to %(high)s.") % _ends(low, high))
    return found


def read_choice(query: Mapping[str, str], name: str, choices: type[Choice]) -> Choice | None:
    """One of the values of an enumeration; None where none is given.

    Raises:
        QueryError: it is none of them.
    """
    if not (given := query.get(name)):
        return None
    with reading(name):
        return choices(given)


def _ends(low: int, high: int) -> dict[str, str]:
    return {
        "low": number_format(low, force_grouping=True),
        "high": number_format(high, force_grouping=True),
    }


def ids_beginning(words: str, *, least: int) -> tuple[UUID, UUID] | None:
    """The first and the last id that begin so; None for what is no beginning of an id.

    Args:
        least: hexadecimal digits that make a beginning.
    """
    digits = words.lower().replace("-", "")
    if not re.fullmatch(rf"[0-9a-f]{{{least},32}}", digits):
        return None
    return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))


def ids_of(words: Iterable[str]) -> list[UUID]:
    """The ids among these words, each once; what is none is left out."""
    found: dict[UUID, None] = {}
    for word in words:
        try:
            found[UUID(word)] = None
        except ValueError:
            continue
    return list(found)
