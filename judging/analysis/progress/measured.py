"""What a source says of the progress of runs, or why it says nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.analysis.progress.sources import ProgressSource
from judging.evaluators.milestones import StoredFinding, StoredProgress, stored_progress
from judging.models import Evaluation, Label, Study, StudyItem
from judging.studies.labels.ticks import ticked_finding
from runs.catalogue.milestones.definitions import definition_of
from runs.models import Milestone
from webagent.milestones.findings import (
    Definition,
    Finding,
    Progress,
    digest_of,
    in_order,
    track,
    weights_of,
)

Definitions = Mapping[int, Sequence[Definition]]
"""The milestones in force by task; tasks without any are left out."""


class Missing(StrEnum):
    """Why there is no progress rate of a run."""

    NO_MILESTONES = "no-milestones"
    NOT_ASKED = "not-asked"
    NO_VERDICT = "no-verdict"
    STALE = "stale"


MISSING: Mapping[Missing, Promise] = {
    Missing.NO_MILESTONES: _("the task has no milestones"),
    Missing.NOT_ASKED: _("the source was not asked"),
    Missing.NO_VERDICT: _("the source came to no verdict"),
    Missing.STALE: _("the task's milestones have changed since"),
}


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
    findings: tuple[tuple[Finding, ...], ...] = ()
    """What each of them found, in the same order."""


def milestones_of(tasks: QuerySet[Any] | Iterable[int]) -> dict[int, tuple[Definition, ...]]:
    """The milestones in force of these tasks, in one query; tasks without any are left out."""
    found: defaultdict[int, list[Definition]] = defaultdict(list)
    for row in Milestone.objects.in_force().filter(task__in=tasks):
        found[row.task_id].append(definition_of(row))
    return {task: tuple(milestones) for task, milestones in found.items()}


def progress_by(
    source: ProgressSource,
    runs: QuerySet[Any],
    milestones: Definitions,
    study: Study | None = None,
) -> dict[UUID, RunProgress | Missing]:
    """What the source says of those of the runs that it speaks of, or fails to, in three queries.

    Runs that are not there were not asked about. Blindness is the caller's.

    Args:
        study: whose labels alone count as people's; None for those of all studies.
    """
    if source.evaluator is None:
        return _ticked(runs, milestones, study)
    return _evaluated(source, runs, milestones)


def first_missed(progress: RunProgress, milestones: Sequence[Definition]) -> int | None:
    """The place of the first milestone, from 0, that was never reached; None if all were.

    By people: that no more than half of them say was reached.
    """
    said: defaultdict[str, list[bool]] = defaultdict(list)
    for findings in progress.findings:
        for one in findings:
            said[one.name].append(bool(one.spans))
    for place, milestone in enumerate(milestones):
        votes = said.get(milestone.name)
        if votes and 2 * sum(votes) <= len(votes):
            return place
    return None


def _evaluated(
    source: ProgressSource, runs: QuerySet[Any], milestones: Definitions
) -> dict[UUID, RunProgress | Missing]:
    digests = {task: digest_of(of_task) for task, of_task in milestones.items()}
    of_none = digest_of(())
    rows = Evaluation.objects.filter(
        evaluator=source.evaluator, is_current=True, run__in=runs.order_by().values("pk")
    ).values_list("run", "run__task", "details")
    found: dict[UUID, RunProgress | Missing] = {}
    for run, task, details in rows.iterator(chunk_size=500):
        # An evaluator that could check some of the milestones alone has no verdict on the run.
        stored = stored_progress(details)
        if stored is None:
            found[run] = Missing.NO_VERDICT
        elif stored.milestones_hash and stored.milestones_hash != digests.get(task, of_none):
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
        findings=(tuple(_finding(each) for each in stored.milestones),),
    )


def _finding(stored: StoredFinding) -> Finding:
    is_lost = stored.achieved_at is not None and stored.lost_at is not None
    return Finding(
        name=stored.name,
        achieved_at=stored.achieved_at,
        lost_at=stored.lost_at if is_lost else None,
        rationale=stored.rationale,
        evidence_step=stored.evidence_step,
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
    without: dict[UUID, RunProgress | Missing] = dict.fromkeys(stale, Missing.STALE)
    return without | {run: _mean(each) for run, each in said.items()}


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
    findings = in_order([ticks[one.name] for one in milestones], milestones)
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
