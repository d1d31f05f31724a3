"""The live page of reruns: its rows, how many run and wait, and how long runs usually take."""

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Avg, Count, Q
from django.utils import timezone

from runs.interface.paging import OrderedParts
from runs.interface.requests import AppRequest, wants_partial
from runs.launching.reruns.results import results_of
from runs.launching.wall import wall_of
from runs.models import Run, RunStatus, User
from runs.models.steps import last_screenshot
from runs.models.visibility import visibility_of
from webagent.trajectory.formats.pushed.runs import PUSH_FORMAT

PER_PAGE = 50
MOST_LISTED = 1_000
QUEUED_HERE = Q(queued_at__isnull=False) | (Q(lease_token__gt=0) & ~Q(source_format=PUSH_FORMAT))
"""Ended runs that went through this installation's queue. Imported ones never did, whoever made
them, and pushed ones are listed only while they go on. Found by the index `run_made_here`."""


def rerun_list_of(user: User) -> OrderedParts[Run]:
    """Runs made here that the person may see.

    First what is under way, then what waits, the oldest first as it will be taken, then the rest,
    the newest first, `MOST_LISTED` of each.
    """
    visibility = visibility_of(user)
    runs = (
        Run.objects.visible_with(visibility).filter(superseded=False).order_by("-created_at", "-pk")
    )

    def shown(rows: Any) -> Any:
        return (
            rows.named(visibility).for_list().annotate(last_picture=last_screenshot(is_small=True))
        )

    # One status at a time: of several, SQLite reads every run there is.
    return OrderedParts(
        runs.filter(status=RunStatus.RUNNING),
        runs.filter(status=RunStatus.LEASED),
        runs.filter(status=RunStatus.QUEUED).order_by("created_at", "-pk"),
        runs.ended().filter(QUEUED_HERE),
        most=MOST_LISTED,
        shown=shown,
    )


def rerun_rows(runs: Iterable[Run], user: User, *, has_ended: bool) -> list[dict[str, Any]]:
    """The rows of one page of `rerun_list_of`.

    Args:
        has_ended: the page has those of ended runs already, which move no more.
    """
    found = list(runs)
    lengths = _usual_lengths(run for run in found if run.is_active)
    results, now = {} if has_ended else results_of(found, user), timezone.now()
    return [
        {
            **_row(run, lengths.get((run.task_id, run.agent_id)), now),
            "against": results.get(run.pk),  # beside the run that it repeats
            "is_there": has_ended and not run.is_active,
        }
        for run in found
    ]


def counts_of(user: User) -> dict[str, int]:
    """How many of the person's visible runs run and wait."""
    seen = Run.objects.visible_with(visibility_of(user))
    active = seen.filter(status__in=RunStatus.active()).order_by()
    waiting = Q(status=RunStatus.QUEUED)
    counts: dict[str, int] = active.aggregate(
        running=Count("pk", filter=~waiting), queued=Count("pk", filter=waiting)
    )
    return counts


def _row(run: Run, usual: float | None, now: datetime) -> dict[str, Any]:
    """One run on the live page. Lengths are in seconds; None is unknown or hidden."""
    elapsed = None
    if run.started_at:
        elapsed = ((run.ended_at or now) - run.started_at).total_seconds()
    left = None
    # How long an agent usually takes tells which agent it is.
    if usual is not None and run.is_active and not run.is_anonymous:
        left = max(usual - (elapsed or 0), 0)
    waits = None
    if run.status == RunStatus.QUEUED and run.not_before and run.not_before > now:
        waits = (run.not_before - now).total_seconds()
    ended_badly = run.status in (RunStatus.FAILED, RunStatus.CANCELLED)
    return {
        "run": run,
        # That a run broke is its outcome, which a blind person does not see.
        "status": RunStatus.FINISHED if run.is_blind and ended_badly else RunStatus(run.status),
        "thumbnail": run.last_picture,  # type: ignore[attr-defined]  # annotated by the query above
        "elapsed": elapsed,
        "left": left,
        "waits": waits,  # until a run that waits for its next attempt may start
        "can_cancel": run.is_active and run.cancel_requested_at is None,
        "can_retry": ended_badly and not run.is_blind,
    }


def _usual_lengths(runs: Iterable[Run]) -> dict[tuple[int, int], float]:
    """The mean length of finished runs, by task and agent."""
    tasks = {run.task_id for run in runs}
    # By their tasks: asked for the status too, or for pairs, SQLite goes through all finished ones.
    of_finished = Avg("seconds", filter=Q(status=RunStatus.FINISHED))
    means = Run.objects.filter(task__in=tasks).values_list("task_id", "agent_id").order_by()
    found = means.annotate(mean=of_finished).filter(mean__isnull=False)
    return {(task_id, agent_id): mean for task_id, agent_id, mean in found}


def _ended(runs: Iterable[Run]) -> str:
    """Which ended runs a page shows, and the minute: verdicts on them that come late show then."""
    shown = [(run.pk, run.is_blind) for run in runs if not run.is_active]
    return sha256(f"{timezone.now():%H:%M} {shown}".encode()).hexdigest()[:16]


def live_context(request: AppRequest) -> dict[str, Any]:
    """What `runs/launching/rerun_list.html` needs; a fragment leaves ended rows that are there."""
    page = Paginator(rerun_list_of(request.user), PER_PAGE).get_page(request.GET.get("page"))
    counts = counts_of(request.user)
    moves = any(counts.values())
    ended = _ended(page.object_list)
    has_ended = moves and wants_partial(request) and request.GET.get("ended") == ended
    rows = rerun_rows(page.object_list, request.user, has_ended=has_ended)
    own = Run.objects.launched_by_hand(request.user.pk).count()
    wall = wall_of(Run.objects.visible_to(request.user), request.user) if moves else []
    context = {"page": page, "rows": rows, "wall": wall, "moves": moves, "own": own}
    return {**context, "ended": ended, **counts}
