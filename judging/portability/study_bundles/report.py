"""What became of a bundle that was imported."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

MOST_CONFLICTS = 1000


@dataclass(slots=True)
class StudyReport:
    """What is new, what was here, and what is here otherwise and stays so."""

    study: str = ""
    study_id: int | None = None
    new: Counter[str] = field(default_factory=Counter)
    """Lines stored, by kind."""
    already_there: Counter[str] = field(default_factory=Counter)
    conflicts: list[str] = field(default_factory=list)
    n_conflicts: int = 0
    people: list[str] = field(default_factory=list)
    """Usernames of accounts that were made: without a password, and not active."""

    def conflict(self, words: str) -> None:
        """Note what is here otherwise."""
        self.n_conflicts += 1
        if len(self.conflicts) < MOST_CONFLICTS:
            self.conflicts.append(words)

    def to_json(self) -> dict[str, Any]:
        return {
            "study": self.study,
            "new": dict(sorted(self.new.items())),
            "already_there": dict(sorted(self.already_there.items())),
            "conflicts": self.conflicts,
            "n_conflicts": self.n_conflicts,
            "people": self.people,
        }
