"""Where a value from outside does not fit its model, and why.

No value is repeated: it may be a secret, or hostile.
"""

from __future__ import annotations

from typing import NamedTuple

from pydantic import ValidationError


class Misfit(NamedTuple):
    """One place that is wrong; `field` is empty for the value as a whole."""

    field: str
    reason: str

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}" if self.field else self.reason


def misfits(error: ValidationError) -> list[Misfit]:
    """All places that are wrong, in the order in which they were looked at."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [
        Misfit(".".join(map(str, each["loc"])), each["msg"].removeprefix("Value error, "))
        for each in found
    ]


def first_misfit(error: ValidationError) -> Misfit:
    """The first of them."""
    return misfits(error)[0]
