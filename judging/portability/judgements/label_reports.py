"""What a file of labels brought, or would bring."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from webagent.trajectory.bundles import Problem, Rejection

MOST_LISTED = 20
"""Bad rows, and columns that are not read, listed one by one."""
MOST_NAMED = 100
"""People and evaluators told by name."""


@dataclass(slots=True)
class LabelReport:
    """What a file brought, or would bring; nothing was stored where rows are bad."""

    rows: int = 0
    labels: int = 0
    verdicts: int = 0
    adjudications: int = 0
    already_there: int = 0
    settled: int = 0
    disputed: int = 0
    waiting: int = 0
    """Runs with fewer labels than the study asks for."""
    stubs: int = 0
    """Runs made without their trajectories."""
    bad: int = 0
    unread_from: int = 0
    """The line from which nothing could be read; 0 where all was."""
    listed: list[Problem] = field(default_factory=list)
    most_listed: int = MOST_LISTED
    unread: dict[str, int] = field(default_factory=dict)
    """Columns that nothing is known of, and the line where each was met first."""
    runs: set[UUID] = field(default_factory=set)
    """Of which rows speak that could be stored."""
    people: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The first that are named: their rows, and whether an account is made for them."""
    n_people: int = 0
    n_new_people: int = 0
    evaluators: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """The first that are named, by name and version."""
    known_evaluators: set[tuple[str, str]] = field(default_factory=set)

    def refuse(self, bad: Problem) -> None:
        """Count the row, and list it among the first."""
        self.bad += 1
        if isinstance(bad, Rejection):
            self.unread_from = bad.line
        if len(self.listed) < self.most_listed:
            self.listed.append(bad)

    def note_person(self, name: str, *, is_new: bool) -> None:
        """Count somebody who was not named before."""
        self.n_people += 1
        self.n_new_people += is_new
        if len(self.people) < MOST_NAMED:
            self.people[name] = {"name": name, "rows": 0, "is_new": is_new}

    def count_person(self, name: str) -> None:
        """Count a row of theirs."""
        if name in self.people:
            self.people[name]["rows"] += 1

    def count_evaluator(self, name: str, version: str) -> None:
        """Count a row of an evaluator's."""
        key = (name, version)
        self.known_evaluators.add(key)
        if key not in self.evaluators and len(self.evaluators) < MOST_NAMED:
            self.evaluators[key] = {"name": name, "rows": 0, "version": version}
        if key in self.evaluators:
            self.evaluators[key]["rows"] += 1

    def summary(self) -> dict[str, Any]:
        """Counts of everything, and so much of each list as a page shows."""
        names = ("rows", "labels", "verdicts", "adjudications", "already_there", "bad", "stubs")
        standing = ("unread_from", "settled", "disputed", "waiting", "n_people", "n_new_people")
        return {
            "counts": {name: getattr(self, name) for name in (*names, *standing)}
            | {"runs": len(self.runs), "n_evaluators": len(self.known_evaluators)},
            "listed": [
                {"line": bad.line, "field": bad.field, "reason": bad.reason} for bad in self.listed
            ],
            "unread": [{"name": name, "line": line} for name, line in self.unread.items()],
            "people": list(self.people.values()),
            "evaluators": list(self.evaluators.values()),
        }
