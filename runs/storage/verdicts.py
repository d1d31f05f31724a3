"""Verdicts of runs that are imported or exported, kept by the app above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import UUID

from runs.models import Run, User
from runs.models.hooks import Hook
from webagent.trajectory.bundles import Problem, RunBundle
from webagent.trajectory.records import AdjudicationRecord, EvaluationRecord, LabelRecord


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


verdict_store: Hook[VerdictStore] = Hook("the verdicts of runs")
