"""Evaluations: made once for a run and an evaluator version, kept for good.

A finished run never changes and neither does a version, so its evaluation stands: asking again
finds it. Only an explicit `Again` makes another, appended beside the earlier ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from time import perf_counter

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from judging.evaluators.contract import Evaluator, Finding
from judging.models import Evaluation, EvaluatorVersion, Study
from runs.models import Run, RunStatus

BATCH = 200


class Again(StrEnum):
    """Which runs are evaluated although they have an evaluation."""

    NEVER = "never"
    NO_VERDICT = "no-verdict"
    ALL = "all"


@dataclass(slots=True)
class Tally:
    """How many runs were evaluated, with what result, and how many had an evaluation already."""

    verdicts: Counter[str] = field(default_factory=Counter)
    already: int = 0

    @property
    def made(self) -> int:
        return self.verdicts.total()

    def add(self, other: Tally) -> None:
        self.verdicts.update(other.verdicts)
        self.already += other.already


def version_of(evaluator: Evaluator) -> EvaluatorVersion:
    """The stored version of an evaluator, made on first sight."""
    identity = evaluator.identity
    version, _ = EvaluatorVersion.objects.get_or_create(
        config_hash=identity.config_hash,
        defaults={
            "name": identity.name,
            "kind": identity.kind,
            "version": identity.version,
            "config": dict(identity.config),
        },
    )
    return version


def runs_of(study: Study) -> QuerySet[Run]:
    """The study's runs that have ended, with what evaluators read, in the study's order."""
    ended = Run.objects.filter(study_items__study=study, status__in=RunStatus.ended())
    return ended.select_related("task").order_by("study_items__position")


def runs_without(version: EvaluatorVersion, runs: QuerySet[Run]) -> QuerySet[Run]:
    """Those of the runs that the evaluator has said nothing of yet."""
    return runs.exclude(Exists(_current(version).filter(run=OuterRef("pk"))))


def evaluate_study(
    *,
    study: Study,
    evaluator: Evaluator,
    limit: int | None = None,
    again: Again = Again.NEVER,
) -> Iterator[Tally]:
    """Evaluate the study's runs, at most `limit` of them; yields what each batch came to.

    Every batch is stored before it is told, so that what is cut short is resumed, not redone.
    """
    version = version_of(evaluator)
    runs = runs_of(study)
    if again is Again.NEVER:
        already = runs.count()
        runs = runs_without(version, runs)
        already -= runs.count()
        yield Tally(already=already)
    elif again is Again.NO_VERDICT:
        settled = [Evaluation.Verdict.PASSED, Evaluation.Verdict.FAILED]
        runs = runs.exclude(
            Exists(_current(version).filter(run=OuterRef("pk"), verdict__in=settled))
        )
    ids = list(runs.values_list("pk", flat=True)[:limit])
    for start in range(0, len(ids), BATCH):
        chosen = Run.objects.filter(pk__in=ids[start : start + BATCH]).select_related("task")
        yield evaluate_runs(chosen, evaluator, version, again=again)


def evaluate_runs(
    runs: Sequence[Run] | QuerySet[Run],
    evaluator: Evaluator,
    version: EvaluatorVersion,
    *,
    again: Again = Again.NEVER,
) -> Tally:
    """Evaluate and store in one transaction; a run evaluated meanwhile by another keeps that."""
    rows = [_row(run, evaluator, version) for run in runs]
    with transaction.atomic():
        if again is not Again.NEVER:
            _current(version).filter(run__in=[row.run_id for row in rows]).update(is_current=False)
        Evaluation.objects.bulk_create(rows, ignore_conflicts=True)
        # Which rows a conflict kept out is only known by looking.
        stored = Evaluation.objects.filter(pk__in=[row.pk for row in rows])
        verdicts = Counter(stored.values_list("verdict", flat=True))
    return Tally(verdicts=verdicts, already=len(rows) - verdicts.total())


def _current(version: EvaluatorVersion) -> QuerySet[Evaluation]:
    return Evaluation.objects.filter(evaluator=version, is_current=True)


def _row(run: Run, evaluator: Evaluator, version: EvaluatorVersion) -> Evaluation:
    started = perf_counter()
    finding: Finding = evaluator.evaluate(run)
    return Evaluation(
        run=run,
        evaluator=version,
        verdict=finding.verdict,
        score=finding.score,
        reason=finding.reason[:200],
        details=dict(finding.details),
        rationale=finding.rationale,
        cost=finding.cost,
        seconds=perf_counter() - started,
        record={"content_hash": run.content_hash} if run.content_hash else {},
    )
