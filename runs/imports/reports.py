"""What an import tells of each of its runs, and how many of each fate there are."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from runs.imports.reimporting import Became, Reimported
from runs.imports.storing import ImportedRun
from webagent.trajectory.intake import Problem, Rejection

MAX_PROBLEMS = 1_000
MAX_SHOWN = 200
COUNTED = ("steps", "screenshots", "labels", "evaluations", "gaps", "dropped", "redacted")


@dataclass(slots=True)
class ImportReport:
    """The outcome of an import, item by item; what was rejected left nothing behind."""

    imported: list[ImportedRun] = field(default_factory=list)
    already_there: list[ImportedRun] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    """What was left out of runs that were taken; at most `MAX_PROBLEMS` of `n_problems`."""
    n_problems: int = 0
    unread: list[str] = field(default_factory=list)
    """Files that no importer takes; at most `MAX_PROBLEMS` of `n_unread`."""
    n_unread: int = 0
    read_again: list[Reimported] = field(default_factory=list)
    """Runs of a file that was read again, but for those that are new or as before."""
    is_reading_again: bool = False

    def add(self, item: ImportedRun | Reimported | Problem) -> None:
        """Note one more result."""
        if isinstance(item, Reimported):
            self.read_again.append(item)
            return
        if isinstance(item, ImportedRun):
            (self.imported if item.is_new else self.already_there).append(item)
            self._note(*item.problems)
        elif isinstance(item, Rejection):
            self.rejected.append(item)
        else:
            self._note(item)

    def leave(self, names: Sequence[str]) -> None:
        """Note files that no importer takes."""
        self.n_unread += len(names)
        self.unread.extend(names[: max(0, MAX_PROBLEMS - len(self.unread))])

    @property
    def n_done(self) -> int:
        """Runs dealt with, whatever became of them."""
        taken = len(self.imported) + len(self.already_there)
        return taken + len(self.rejected) + len(self.read_again)

    @property
    def n_archived(self) -> int:
        """Of the runs that were there before, those that are archived."""
        return sum(run.is_archived for run in self.already_there)

    def to_json(self) -> dict[str, Any]:
        """The shape that `manage.py import_runs --json` prints."""
        return {
            "imported": [_run(run) for run in self.imported],
            "already_there": [_run(run) for run in self.already_there],
            "rejected": [rejection.to_json() for rejection in self.rejected],
            "problems": [problem.to_json() for problem in self.problems],
            **({"unread": self.unread} if self.unread else {}),
            **self._again({"read_again": [run.to_json() for run in self.read_again]}),
        }

    def summary(self) -> dict[str, Any]:
        """Counts of everything, and so much of each list as a page shows."""
        shown = {name: items[:MAX_SHOWN] for name, items in self.to_json().items()}
        replaced = sum(run.became is Became.REPLACED for run in self.read_again)
        counts = {
            "imported": len(self.imported),
            "already_there": len(self.already_there),
            "rejected": len(self.rejected),
            "problems": self.n_problems,
            **{
                name: sum(getattr(run, f"n_{name}") for run in self.imported)
                for name in ("steps", "screenshots", "labels", "evaluations", "redacted")
            },
            **({"unread": self.n_unread} if self.unread else {}),
            **({"archived": n} if (n := self.n_archived) else {}),
            **self._again({"replaced": replaced, "left": len(self.read_again) - replaced}),
        }
        return {"counts": counts, **shown}

    def _again(self, told: dict[str, Any]) -> dict[str, Any]:
        """What is told of a file that is read again, and of no other."""
        return told if self.is_reading_again else {}

    def _note(self, *problems: Problem) -> None:
        self.n_problems += len(problems)
        self.problems.extend(problems[: max(0, MAX_PROBLEMS - len(self.problems))])


def _run(run: ImportedRun) -> dict[str, Any]:
    return {
        "source": run.source,
        "run": str(run.run_id),
        **{name: getattr(run, f"n_{name}") for name in COUNTED},
        **({"archived": True} if run.is_archived else {}),
    }
