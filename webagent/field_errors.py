"""Where a value from outside does not fit its model, and why.

No value is repeated: it may be a secret, or hostile.
"""

from __future__ import annotations

from typing import NamedTuple

from pydantic import ValidationError


class FieldError(NamedTuple):
    """One place that is wrong; `field` is empty for the value as a whole."""

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
