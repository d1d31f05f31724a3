"""What the live page of reruns shows of each run, in a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from django.db.models import (
    Avg,
    Count,
    OuterRef,
    Q,
    Subquery,
)
from django.utils import timezone

from runs.interface.paging import OrderedParts
from runs.models import Run, RunStatus, Step, User
from runs.models.visibility import visibility_of
from webagent.trajectory.pushed.runs import PUSH_FORMAT

if TYPE_CHECKING:
    from runs.models.shown_runs import ShownRun

PER_PAGE = 50
MOST_LISTED = 10_000
QUEUED_HERE = Q(queued_at__isnull=False) | (Q(lease_token__gt=0) & ~Q(source_format=PUSH_FORMAT))
"""Ended runs that went through this installation's queue. Imported ones never did, whoever made
them, and pushed ones are listed only while they go on. Found by the index `run_made_here`."""


@dataclass(frozen=True, slots=True)
class RerunRow:
    """One run on the live page. Lengths are in seconds; None is unknown or hidden."""

    run: ShownRun
    status: str
    thumbnail: str | None
    elapsed: float | None
    left: float | None
    waits: float | None
    """How long until a run that waits for its next attempt may start."""
    can_cancel: bool
    can_retry: bool

    @property
    def status_words(self) -> str:
        return str(RunStatus(self.status).label)


def rerun_list_of(user: User) -> OrderedParts[Run]:
    """Runs made here that the person may see.

    First what is under way, then what waits, the oldest first as it will be taken, then the rest,
    the newest first, `MOST_LISTED` of each.
    """
    last_picture = (
        Step.objects.filter(run=OuterRef("pk"), screenshot__isnull=False)
        .order_by("-index")
        .values("screenshot__thumbnail")[:1]
    )
    visibility = visibility_of(user)
    runs = (
        Run.objects.visible_with(visibility).filter(superseded=False).order_by("-created_at", "-pk")
    )

    def shown(rows: Any) -> Any:
        named = rows.named(visibility).for_list()
        return named.annotate(last_picture=Subquery(last_picture))

    # One status at a time: of several, SQLite reads every run there is.
    return OrderedParts(
        runs.filter(status=RunStatus.RUNNING),
        runs.filter(status=RunStatus.LEASED),
        runs.filter(status=RunStatus.QUEUED).order_by("created_at", "-pk"),
        runs.filter(QUEUED_HERE, status__in=RunStatus.ended()),
        most=MOST_LISTED,
        shown=shown,
    )


def rerun_rows(runs: Iterable[Run]) -> list[RerunRow]:
    """The rows of one page of `rerun_list_of`."""
    found = list(runs)
    lengths = _usual_lengths(run for run in found if run.is_active)
    now = timezone.now()
    return [_row(run, lengths.get((run.task_id, run.agent_id)), now) for run in found]


def counts_of(user: User) -> dict[str, int]:
    """How many of the person's visible runs run and wait."""
    seen = Run.objects.visible_with(visibility_of(user))
    active = seen.filter(status__in=RunStatus.active()).order_by()
    waiting = Q(status=RunStatus.QUEUED)
    counts: dict[str, int] = active.aggregate(
        running=Count("pk", filter=~waiting), queued=Count("pk", filter=waiting)
    )
    return counts


def _row(run: Run, usual: float | None, now: datetime) -> RerunRow:
    shown = cast("ShownRun", run)
    elapsed = None
    if run.started_at:
        elapsed = ((run.ended_at or now) - run.started_at).total_seconds()
    left = None
    # How long an agent usually takes tells which agent it is.
    if usual is not None and run.is_active and not shown.is_anonymous:
        left = max(usual - (elapsed or 0), 0)
    waits = None
    if run.status == RunStatus.QUEUED and run.not_before and run.not_before > now:
        waits = (run.not_before - now).total_seconds()
    ended_badly = run.status in (RunStatus.FAILED, RunStatus.CANCELLED)
    return RerunRow(
        run=shown,
        # That a run broke is its outcome, which a blind person does not see.
        status=RunStatus.FINISHED if shown.is_blind and ended_badly else run.status,
        thumbnail=run.last_picture,  # type: ignore[attr-defined]  # annotated by the query above
        elapsed=elapsed,
        left=left,
        waits=waits,
        can_cancel=run.is_active and run.cancel_requested_at is None,
        can_retry=ended_badly and not shown.is_blind,
    )


def _usual_lengths(runs: Iterable[Run]) -> dict[tuple[int, int], float]:
    """The mean length of finished runs, by task and agent."""
    pairs = {(run.task_id, run.agent_id) for run in runs}
    if not pairs:
        return {}
    wanted = Q()
    for task_id, agent_id in pairs:
        wanted |= Q(task_id=task_id, agent_id=agent_id)
    means = (
        Run.objects.filter(wanted, status=RunStatus.FINISHED, seconds__isnull=False)
        .values_list("task_id", "agent_id")
        .annotate(mean=Avg("seconds"))
        .order_by()
    )
    return {(task_id, agent_id): mean for task_id, agent_id, mean in means}
