"""What addresses and forms hold, as far as it makes sense."""

from __future__ import annotations

LONGEST_NUMBER = 18
"""Digits of the largest number that every database takes for a key."""


def read_number(text: str) -> int | None:
    """The number of a row as an address or a form names it; None for what names none."""
    return int(text) if text.isdecimal() and len(text) <= LONGEST_NUMBER else None
