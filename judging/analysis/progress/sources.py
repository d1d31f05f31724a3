"""Who says how far a run got: one source at a time, always named, never mixed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db import models
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.verdict_sources import in_order
from judging.analysis.counting import tally
from judging.evaluators.milestones import (
    MECHANICAL,
    PROGRESS_EVALUATORS,
    StoredFinding,
    StoredProgress,
    stored_progress,
)
from judging.models import Evaluation, EvaluatorVersion, Label, MilestoneTick, Study, StudyItem
from judging.studies.labels.ticks import ticked_finding
from runs.catalogue.milestones.definitions import definition_of
from runs.models import Milestone
from webagent.milestones.findings import Definition, Finding, Progress, digest_of, track, weights_of
from webagent.milestones.findings import in_order as findings_in_order

TICKS = "ticks"
_EVALUATOR = "evaluator-"
_OF_NONE = digest_of(())


@dataclass(frozen=True, slots=True)
class ProgressSource:
    """An evaluator of milestones, or what people ticked in their labels (None)."""

    evaluator: EvaluatorVersion | None = None

    @property
    def key(self) -> str:
        """Its name in an address: `ticks` or `evaluator-12`."""
        return TICKS if self.evaluator is None else f"{_EVALUATOR}{self.evaluator.pk}"

    @property
    def name(self) -> str:
        return _("people's ticks") if self.evaluator is None else self.evaluator.shown

    @property
    def rule(self) -> str:
        """What a run's progress is by it."""
        if self.evaluator is None:
            return _(
                "Progress is the weight of the milestones that people ticked, the mean over the "
                "people who labelled the run; only settled runs count."
            )
        if self.evaluator.name == MECHANICAL:
            return _(
                "Progress is the weight of the milestones whose checks the steps pass, of those "
                "that could be checked."
            )
        return _("Progress is the weight of the milestones that the judge says were reached.")


class ProgressChoice(NamedTuple):
    """A source that can be chosen, with how many runs it speaks of."""

    source: ProgressSource
    runs: int


def read_progress_source(text: str) -> ProgressSource:
    """The source of an address. Raises ValueError where there is no such source."""
    if text == TICKS:
        return ProgressSource()
    number = text.removeprefix(_EVALUATOR)
    if text.startswith(_EVALUATOR) and number.isdecimal() and len(number) < 10:
        known = EvaluatorVersion.objects.filter(name__in=PROGRESS_EVALUATORS)
        evaluator = known.filter(pk=int(number)).first()
        if evaluator is not None:
            return ProgressSource(evaluator)
    raise ValueError(f"{text} tells no progress")


def progress_choices(runs: QuerySet[Any]) -> list[ProgressChoice]:
    """The sources that say something of these runs, in three queries; people's ticks first."""
    ids = runs.order_by().values("pk")
    ticked = (
        MilestoneTick.objects.filter(
            label__item__run__in=ids,
            label__is_repeat=False,
            label__item__status=StudyItem.Status.SETTLED,
            milestone__removed_at=None,
        )
        .order_by()
        .aggregate(n=Count("label__item__run", distinct=True))["n"]
    )
    said = Evaluation.objects.filter(
        run__in=ids, evaluator__name__in=PROGRESS_EVALUATORS, is_current=True, score__isnull=False
    )
    spoken = tally(said, "evaluator")
    versions = in_order(EvaluatorVersion.objects.filter(pk__in=spoken))
    found = [ProgressChoice(ProgressSource(each), spoken[each.pk]) for each in versions]
    return [ProgressChoice(ProgressSource(), ticked), *found] if ticked else found


def default_progress_source(choices: Sequence[ProgressChoice]) -> ProgressSource:
    """The evaluator that speaks of most runs, else people's ticks."""
    of_evaluators = [each for each in choices if each.source.evaluator is not None]
    most = max(of_evaluators, key=lambda each: each.runs, default=None)
    return most.source if most else ProgressSource()


Definitions = Mapping[int, Sequence[Definition]]
"""The milestones in force by task; tasks without any are left out."""


class Missing(models.TextChoices):
    """Why there is no progress rate of a run."""

    NO_MILESTONES = "no-milestones", gettext_lazy("the task has no milestones")
    NOT_ASKED = "not-asked", gettext_lazy("the source was not asked")
    NO_VERDICT = "no-verdict", gettext_lazy("the source came to no verdict")
    STALE = "stale", gettext_lazy("the task's milestones have changed since")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """The progress of one run, in [0, 1]: after each step, the highest, and at the end.

    For people all three are means over those who labelled the run.
    """

    by_step: tuple[float, ...]
    maximum: float
    final: float
    is_partial: bool = False
    """Whether it is over some of the task's milestones only: the others could not be told."""
    by_each: tuple[float, ...] = ()
    """The highest progress by each who says so: one evaluator, or each person who labelled it."""
    findings: tuple[tuple[Finding | StoredFinding, ...], ...] = ()
    """What each of them found, in the same order."""

    @property
    def votes(self) -> Mapping[str, Sequence[bool]]:
        """Of each milestone by name whether each of them says that it was reached."""
        votes: defaultdict[str, list[bool]] = defaultdict(list)
        for findings in self.findings:
            for one in findings:
                votes[one.name].append(one.achieved_at is not None)
        return votes


def milestones_of(tasks: QuerySet[Any] | Iterable[int]) -> dict[int, tuple[Definition, ...]]:
    """The milestones in force of these tasks, in one query; tasks without any are left out."""
    found: defaultdict[int, list[Definition]] = defaultdict(list)
    for row in Milestone.objects.in_force().filter(task__in=tasks):
        found[row.task_id].append(definition_of(row))
    return {task: tuple(milestones) for task, milestones in found.items()}


def progress_by(
    source: ProgressSource, runs: QuerySet[Any], milestones: Definitions, study: Study | None = None
) -> dict[UUID, RunProgress | Missing]:
    """What the source says of those of the runs that it speaks of, or fails to, in three queries.

    Runs that are not there were not asked about. Blindness is the caller's.

    Args:
        study: whose labels alone count as people's; None for those of all studies.
    """
    if source.evaluator is None:
        return _ticked(runs, milestones, study)
    digests = {task: digest_of(of_task) for task, of_task in milestones.items()}
    rows = Evaluation.objects.filter(
        evaluator=source.evaluator, is_current=True, run__in=runs.order_by().values("pk")
    ).values_list("run", "run__task", "details")
    found: dict[UUID, RunProgress | Missing] = {}
    for run, task, details in rows.iterator(chunk_size=500):
        # An evaluator that could check some of the milestones alone has no verdict on the run.
        stored = stored_progress(details)
        if stored is None:
            found[run] = Missing.NO_VERDICT
        elif stored.milestones_hash and stored.milestones_hash != digests.get(task, _OF_NONE):
            found[run] = Missing.STALE
        else:
            found[run] = _evaluated_progress(stored)
    return found


def _evaluated_progress(stored: StoredProgress) -> RunProgress:
    return RunProgress(
        by_step=tuple(rate / 100 for rate in stored.progress.by_step),
        maximum=stored.progress.maximum / 100,
        final=stored.progress.final / 100,
        is_partial=stored.is_partial,
        by_each=(stored.progress.maximum / 100,),
        findings=(stored.milestones,),
    )


def _ticked(
    runs: QuerySet[Any], milestones: Definitions, study: Study | None
) -> dict[UUID, RunProgress | Missing]:
    of_study = Q() if study is None else Q(item__study=study)
    labels = (
        Label.objects.filter(
            of_study,
            item__run__in=runs.order_by().values("pk"),
            item__status=StudyItem.Status.SETTLED,
            is_repeat=False,
            ticks__isnull=False,
        )
        .distinct()
        .select_related("item__run")
        .only("item__run__task", "item__run__n_steps", "item__run__id", "item__study")
        .prefetch_related("ticks__milestone")
        .order_by("submitted_at", "pk")
    )
    said: defaultdict[UUID, list[tuple[tuple[Finding, ...], Progress]]] = defaultdict(list)
    stale: set[UUID] = set()
    for label in labels:
        run = label.item.run
        whole = ticked_progress(label, milestones.get(run.task_id, ()), run.n_steps)
        if whole is None:
            stale.add(run.pk)
        else:
            said[run.pk].append(whole)
    return dict.fromkeys(stale, Missing.STALE) | {run: _mean(each) for run, each in said.items()}


def ticked_progress(
    label: Label, milestones: Sequence[Definition], n_steps: int
) -> tuple[tuple[Finding, ...], Progress] | None:
    """What one person found; None where they were not asked about all of these milestones.

    Args:
        label: with `ticks__milestone` prefetched.
    """
    ticks = {
        tick.milestone.name: ticked_finding(tick, n_steps)
        for tick in label.ticks.all()
        if tick.milestone.removed_at is None
    }
    if not milestones or set(ticks) != {one.name for one in milestones}:
        return None
    findings = findings_in_order([ticks[one.name] for one in milestones], milestones)
    return findings, track(findings, weights_of(milestones), n_steps)


def _mean(said: Sequence[tuple[tuple[Finding, ...], Progress]]) -> RunProgress:
    """The mean over people, of each figure by itself."""
    rates = [progress for _findings, progress in said]
    n = 100 * len(rates)
    return RunProgress(
        by_step=tuple(sum(at) / n for at in zip(*(each.by_step for each in rates), strict=True)),
        maximum=sum(each.maximum for each in rates) / n,
        final=sum(each.final for each in rates) / n,
        by_each=tuple(each.maximum / 100 for each in rates),
        findings=tuple(findings for findings, _progress in said),
    )
