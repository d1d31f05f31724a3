"""What the app above adds to runs: one object, registered when the site starts.

Runs know nothing of studies, labels and evaluators. Whatever they need of them, from who is blinded
to a run to the verdicts in an export, they ask of `extension()`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from webagent.trajectory.bundles import Problem, RunBundle
from webagent.trajectory.records import AdjudicationRecord, EvaluationRecord, LabelRecord

if TYPE_CHECKING:
    from runs.launching.policies.judged import Judgements
    from runs.models import Run, User
    from runs.models.visibility import RunPolicy
    from runs.operations.integrity.contract import Invariant
    from runs.operations.retention.deletion_guards import Reason
    from runs.viewer.run_list.extension import RunListExtension


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """What was said of one run by evaluators and people."""

    evaluations: tuple[EvaluationRecord, ...] = ()
    labels: tuple[LabelRecord, ...] = ()
    adjudications: tuple[AdjudicationRecord, ...] = ()


class VerdictStore(Protocol):
    """Stores what a file says of a run beyond the run itself, and gives it back."""

    def store(self, run: Run, bundle: RunBundle) -> Sequence[Problem]:
        """Store the bundle's verdicts; twice is as good as once. Inside a transaction.

        Returns what could not be stored, and why.
        """

    def export(self, runs: Sequence[Run]) -> Mapping[UUID, Verdicts]:
        """Everything said of these runs, by run; runs without verdicts may be missing."""

    def before_file(self, path: Path, user: User | None) -> None:
        """Store what the runs of a file rest on, before the first of them."""

    def after_file(self, path: Path, label: str, user: User | None) -> Sequence[Problem]:
        """Store what a file holds beside its runs, after the last of them.

        Twice is as good as once. Returns what could not be stored, and why.
        """

    def why_kept(self, run: Run) -> str:
        """Why the run must stay as it is and may not be imported anew; empty if it may."""

    def release(self, run: Run) -> Verdicts:
        """Let go of a run that is about to be imported anew.

        Returns what imports said of it, for the run that takes its place. Inside a transaction.
        """


class Extension(Protocol):
    """Everything that the app above answers for."""

    @property
    def policy(self) -> RunPolicy:
        """Who may see what of a run."""
        ...

    @property
    def verdicts(self) -> VerdictStore:
        """Verdicts of runs that are imported or exported."""
        ...

    @property
    def run_list(self) -> RunListExtension:
        """Columns and filters of the runs table."""
        ...

    @property
    def judgements(self) -> Judgements:
        """Verdicts that retry policies ask for, and the studies that gather runs."""
        ...

    def deletion_reasons(self) -> Sequence[Reason]:
        """Why runs may not be archived and deleted."""
        ...

    def invariants(self) -> Sequence[Invariant]:
        """What holds of the app's rows at any moment."""
        ...


_registered: list[Extension] = []


def register(found: Extension) -> None:
    """Have the object answer from now on."""
    _registered[:] = [found]


def extension() -> Extension:
    """What was registered when the site started."""
    return _registered[0]
