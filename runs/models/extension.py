"""What the app above adds to runs: one object, registered when the site starts.

Runs know nothing of studies, labels and evaluators. Whatever they need of them, from who is blinded
to a run to the verdicts in an export, they ask of this object. How it states what holds of its rows
is how they state it of theirs (`Invariant`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.functional import Promise

from runs.models.hooks import above, registered
from runs.models.visibility import RunPolicy
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.intake import Problem
from webagent.trajectory.verdict_records import AdjudicationRecord, EvaluationRecord, LabelRecord

if TYPE_CHECKING:
    from django_filters import Filter
    from django_tables2 import Column

    from runs.models import Run, User
    from runs.models.runs.queries import RunQuerySet

ROWS_AT_ONCE = 500


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

    def refused(self, bundle: RunBundle) -> Sequence[Problem]:
        """What `store` would not take of a new run, as far as it can be told beforehand."""

    def completed(self, run: Run, bundle: RunBundle) -> Sequence[Problem]:
        """The trajectory of a stub came: refer what was said of it to steps and milestones.

        Inside a transaction. Returns what does not fit the trajectory.
        """

    def export(self, runs: Sequence[Run]) -> Mapping[UUID, Verdicts]:
        """Everything said of these runs, by run; runs without verdicts may be missing."""

    def holds_study(self, path: Path) -> bool:
        """Whether the file brings a study with its people, beside runs."""

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


class RunListExtension(Protocol):
    """Columns and filters for what only an app above knows of a run.

    It sees runs that went through `visible_to` and must keep to `is_blind` and `is_anonymous`.
    Its columns are not sorted by.
    """

    def annotate(self, runs: RunQuerySet[Run]) -> RunQuerySet[Run]:
        """The runs with the fields that the columns and filters read."""

    def columns(self) -> list[tuple[str, Column]]:
        """Columns by name, in order."""

    def filters(self) -> dict[str, Filter]:
        """Filters by the name they have in the address."""

    def choices(self) -> dict[str, Callable[[], Iterable[tuple[str, Any]]]]:
        """What gives the values that each filter offers, with their words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVerdicts:
    """Verdicts on one run: True is a success; what has no verdict is None or missing."""

    reference: bool | None = None
    evaluators: Mapping[str, bool] = field(default_factory=dict)
    causes: frozenset[str] = frozenset()
    """Causes of failure that people marked in labels."""


class Judgements(Protocol):
    """Verdicts by run, and the studies that gather runs. `user` None sees everything."""

    def of(self, run_ids: Iterable[UUID], user: User | None) -> Mapping[UUID, RunVerdicts]:
        """What the person may know of these runs; the caller leaves out hidden ones."""

    def may_read(self, user: User) -> bool:
        """Whether the person may see what evaluators said of runs that are not hidden."""

    def evaluators(self) -> list[tuple[str, str]]:
        """Evaluators by name, with words for each."""

    def causes(self) -> list[tuple[str, str]]:
        """Causes of failure that studies offer, by key, with words for each."""

    def studies(self, user: User) -> QuerySet[Any]:
        """Studies that the person may open, newest first; each has a `name`."""

    def runs_of_study(self, study_id: int, user: User | None) -> QuerySet[Run] | None:
        """The runs in a study; None if there is none that the person may open."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why runs are kept: of which it holds, and how that is said."""

    words: str | Promise
    holds: Q


@dataclass(frozen=True, slots=True)
class Violation:
    """One row that is not as it must be."""

    model: str
    key: str
    why: str

    def __str__(self) -> str:
        return f"{self.model} {self.key}: {self.why}"


@dataclass(frozen=True, slots=True)
class Invariant:
    """Something that holds of every row of a model.

    Attributes:
        broken: the rows of which it does not hold, found by one statement, so that work which
            goes on meanwhile is seen before or after a change and never in the middle of it.
        why: what is wrong with such a row; `{name}` stands for a column of `told`.
        told: columns and annotations that `why` names.
    """

    broken: Callable[[], QuerySet[Any]]
    why: str
    told: tuple[str, ...] = ()

    def violations(self) -> Iterator[Violation]:
        """Every row that breaks it, in constant memory."""
        rows = self.broken().order_by()
        label = rows.model._meta.label
        for row in rows.values("pk", *self.told).iterator(chunk_size=ROWS_AT_ONCE):
            yield Violation(label, str(row["pk"]), self.why.format(**row))


def number_of(rows: QuerySet[Any], by: str, counted: str = "pk") -> Coalesce:
    """How many of the rows refer by `by` to the row that is asked about.

    Args:
        counted: a column; only where it is filled does a row count.
    """
    grouped = rows.order_by().filter(**{by: OuterRef("pk")}).values(by)
    counts = grouped.annotate(n_referring=Count(counted)).values("n_referring")
    return Coalesce(Subquery(counts, output_field=IntegerField()), 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """Everything that the app above answers for."""

    policy: RunPolicy
    """Who may see what of a run."""
    verdicts: VerdictStore
    """Verdicts of runs that are imported or exported."""
    run_list: RunListExtension
    """Columns and filters of the runs table."""
    judgements: Judgements
    """Verdicts that retry policies ask for, and the studies that gather runs."""
    address: Callable[[str, Sequence[object]], str]
    """Where a page lies to which pages of runs link, by its name and the arguments of its view."""
    may_open: Callable[[User, str], bool]
    """Whether the person has the permissions that a page of that name takes."""
    deletion_reasons: Callable[[], Iterable[Reason]]
    """Why runs may not be archived and deleted."""
    invariants: Callable[[], Iterable[Invariant]]
    """What holds of the app's rows at any moment."""


def register(given: Extension) -> None:
    """Have the object answer from now on."""
    above[:] = [given]


def extension() -> Extension:
    """The object that answers."""
    given: Extension = registered()
    return given
