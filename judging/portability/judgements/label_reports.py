"""What a file of labels brought, or would bring."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
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
    people: Counter[str] = field(default_factory=Counter)
    """Rows by the name of who is named there."""
    new_people: set[str] = field(default_factory=set)
    """Those of them for whom an account is made."""
    evaluators: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Rows by name and version."""

    def refuse(self, bad: Problem) -> None:
        """Count the row, and list it among the first."""
        self.bad += 1
        if isinstance(bad, Rejection):
            self.unread_from = bad.line
        if len(self.listed) < self.most_listed:
            self.listed.append(bad)

    def summary(self) -> dict[str, Any]:
        """Counts of everything, and so much of each list as a page shows."""
        names = ("rows", "labels", "verdicts", "adjudications", "already_there", "bad", "stubs")
        standing = ("unread_from", "settled", "disputed", "waiting")
        return {
            "counts": {name: getattr(self, name) for name in (*names, *standing)}
            | {
                "n_people": len(self.people),
                "n_new_people": len(self.new_people),
                "runs": len(self.runs),
                "n_evaluators": len(self.evaluators),
            },
            "listed": [
                {"line": bad.line, "field": bad.field, "reason": bad.reason} for bad in self.listed
            ],
            "unread": [{"name": name, "line": line} for name, line in self.unread.items()],
            "people": [
                {"name": name, "rows": rows, "is_new": name in self.new_people}
                for name, rows in islice(self.people.items(), MOST_NAMED)
            ],
            "evaluators": [
                {"name": name, "rows": rows, "version": version}
                for (name, version), rows in islice(self.evaluators.items(), MOST_NAMED)
            ],
        }
