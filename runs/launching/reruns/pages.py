"""What pages show of reruns: the live page, the wall, and what came of each.

The wall has runs under way with their last screenshots, and own ones that have just ended. A rerun
is better, same or worse than the run that it repeats.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import Avg, Count, Q, TextChoices
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from runs.interface.paging import OrderedParts
from runs.interface.requests import AppRequest, wants_partial
from runs.interface.sentences import listed
from runs.models import Run, RunStatus, User
from runs.models.extension import extension
from runs.models.runs.queries import RunQuerySet
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
    elapsed, left = _elapsed(run, now), None
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


def _elapsed(run: Run, now: datetime) -> float | None:
    return ((run.ended_at or now) - run.started_at).total_seconds() if run.started_at else None


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


MOST_ON_WALL = 12
STAYS = timedelta(seconds=20)
"""How long a run stays on the wall after its end."""


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A run on the wall: the file of its last screenshot, and how many seconds it has taken."""

    run: Run
    thumbnail: str | None
    elapsed: float | None


def wall_of(runs: RunQuerySet[Run], user: User) -> list[LiveRun]:
    """Of `visible_to` runs those under way, the oldest first, then the person's last ended ones.

    Three queries.
    """
    now = timezone.now()
    shown: Any = runs.for_list().annotate(last_picture=last_screenshot(is_small=True))
    # One status at a time, in the order of its index: of several, SQLite reads every run there is.
    running = (
        run
        for status in (RunStatus.RUNNING, RunStatus.LEASED)
        for run in shown.filter(status=status).order_by("created_at", "pk")[:MOST_ON_WALL]
    )
    # By the index of who launched it; imported runs were never claimed.
    ended = shown.filter(created_by=user, ended_at__gt=now - STAYS, claimed_at__isnull=False)
    rows = [*running, *ended.order_by("-ended_at")[:MOST_ON_WALL]]
    return [LiveRun(run, run.last_picture, _elapsed(run, now)) for run in rows[:MOST_ON_WALL]]


OUTCOMES = {Run.Outcome.SUCCESS.value: True, Run.Outcome.FAILURE.value: False}


class Result(TextChoices):
    """A rerun beside its original."""

    BETTER = "better", gettext_lazy("better")
    SAME = "same", gettext_lazy("same")
    WORSE = "worse", gettext_lazy("worse")
    MIXED = "mixed", gettext_lazy("mixed")


@dataclass(frozen=True, slots=True)
class RerunResult:
    """The run that was repeated; where some source judges both, the result and whose verdicts."""

    original: UUID
    result: Result | None = None
    sources: str = ""

    @property
    def badge(self) -> str:
        """The result in a word, if there is one; on hover, whose verdicts were compared."""
        if self.result is None:
            return ""
        title = _("Compared by %(sources)s") % {"sources": self.sources}
        return format_html(
            '<span class="result {}" title="{}">{}</span>', self.result, title, self.result.label
        )


def results_of(runs: Iterable[Run], user: User) -> dict[UUID, RerunResult]:
    """By rerun that has ended. A constant number of queries.

    Args:
        runs: of `visible_to`. Those on which the person is blind are left out, and so are reruns
            of runs that are hidden from them.
    """
    reruns = [run for run in runs if run.rerun_of_id and run.ended_at and not run.is_blind]
    if not reruns:
        return {}
    keys = [run.rerun_of_id for run in reruns if run.rerun_of_id]
    originals = {run.pk: run for run in Run.objects.visible_to(user, keys).not_blind()}
    verdicts = evaluations_of([*reruns, *originals.values()], user)
    return {
        run.pk: result_of(run, originals[run.rerun_of_id], verdicts)
        for run in reruns
        if run.rerun_of_id in originals
    }


def result_of(
    rerun: Run, original: Run, verdicts: Mapping[UUID, Mapping[str, bool]]
) -> RerunResult:
    """By verdicts of evaluators and outcomes of both; the person is blind on neither."""
    then, now = ({**verdicts[run.pk], **_outcome_of(run)} for run in (original, rerun))
    both = sorted(then.keys() & now.keys())
    if not both:
        return RerunResult(original.pk)
    result = compare([(then[name], now[name]) for name in both])
    return RerunResult(original.pk, result, listed(both))


def _outcome_of(run: Run) -> dict[str, bool]:
    outcome = OUTCOMES.get(run.shown_outcome or "")
    return {} if outcome is None else {_("outcome"): outcome}


def compare(pairs: Iterable[tuple[bool, bool]]) -> Result:
    """Of verdicts before and after: mixed where one improved and another got worse."""
    changes = {now - then for then, now in pairs} - {0}
    if len(changes) > 1:
        return Result.MIXED
    return {1: Result.BETTER, -1: Result.WORSE}.get(next(iter(changes), 0), Result.SAME)


def evaluations_of(runs: Iterable[Run], user: User) -> dict[UUID, dict[str, bool]]:
    """What evaluators of success said, by run and their names. A constant number of queries.

    Args:
        runs: of `visible_to`, without those on which the person is blind.

    Empty for whoever may not read what evaluators said.
    """
    runs = list(runs)
    judgements = extension().judgements
    if not judgements.may_read(user):
        return {run.pk: {} for run in runs}
    of_success = {name for name, _words in judgements.evaluators()}
    known = judgements.of([run.pk for run in runs], user)
    found: dict[UUID, dict[str, bool]] = {}
    for run in runs:
        said = known[run.pk].evaluators if run.pk in known else {}
        found[run.pk] = {name: passed for name, passed in said.items() if name in of_success}
    return found
