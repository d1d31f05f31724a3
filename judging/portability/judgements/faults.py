"""What could not be stored of a verdict, and why."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One verdict of a file that was left out."""

    kind: str
    id: str
    field: str
    reason: str
