"""Work in progress: the number and drawer in the top bar, and what pages show of leased work."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from django.apps import apps
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from runs.interface.requests import AppRequest, wants_partial
from runs.interface.sentences import listed
from runs.interface.words import money
from runs.models import LeasedWork, PaidWork, Run, RunStatus, User
from runs.models.leased_work import WorkState as State
from runs.models.visibility import run_policy, visibility_of

SHOWN = 30
LOOKED_THROUGH = 100
"""Runs of each active status, for somebody who sees only part of all."""


class Jobs(NamedTuple):
    """Runs and work that wait or move, the first of each kind, and how many there are in all.

    They are read when they are looked at: the number in the top bar asks for none.
    """

    parts: Sequence[QuerySet[Run]]
    """The runs of each active status."""
    work: Sequence[QuerySet[LeasedWork]]
    """By kind: imports, learning, evaluation."""
    total: int

    @property
    def runs(self) -> list[Run]:
        """The runs that wait longest, of whatever status."""
        found = [run for part in self.parts for run in part]
        return sorted(found, key=lambda run: run.created_at)[:SHOWN]


def jobs_in_progress(user: User) -> Jobs:
    """Runs that the person may see, and work that they asked for; two queries a kind at most.

    For who sees only part, the runs that wait longest are looked through: going through all that
    they see would take far longer, and what is judged has ended.
    """
    sees_part = bool(run_policy().visible(user))
    visibility = visibility_of(user, _waiting_longest() if sees_part else None)
    runs = Run.objects.visible_with(visibility).filter(status__in=RunStatus.active())
    rows = runs.named(visibility).for_list().order_by("created_at")
    asked_for = [kind.objects.active().filter(created_by=user) for kind in kinds_of_work()]
    return Jobs(
        parts=[rows.filter(status=status)[:SHOWN] for status in RunStatus.active()],
        work=[
            rows.select_related(*rows.model.title_reads).order_by("created_at")[:SHOWN]
            for rows in asked_for
        ],
        total=runs.count() + sum(rows.count() for rows in asked_for),
    )


def _waiting_longest() -> list[UUID]:
    """Of each active status, by its index."""
    keys = Run.objects.order_by("created_at").values_list("pk", flat=True)
    of_status = (keys.filter(status=status) for status in RunStatus.active())
    return [key for some in of_status for key in some[:LOOKED_THROUGH]]


def kinds_of_work() -> list[type[LeasedWork]]:
    """The models of leased work, those of the layers above included."""
    return [model for model in apps.get_models() if issubclass(model, LeasedWork)]


@require_safe
def job_count(request: AppRequest) -> HttpResponse:
    """How many runs and other jobs are in progress, as a fragment that asks again by itself."""
    return render(request, "runs/queue/_job_count.html", {"jobs": jobs_in_progress(request.user)})


@require_safe
@vary_on_headers("HX-Request")
def job_drawer(request: AppRequest) -> HttpResponse:
    """Each of them with its state, as a fragment that asks again while it is open, or as a page."""
    name = "_job_drawer" if wants_partial(request) else "job_list"
    return render(request, f"runs/queue/{name}.html", {"jobs": jobs_in_progress(request.user)})


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkProgress:
    """What follows from the columns of a piece of work. Lengths are in seconds, None is unknown."""

    status: str
    """The class of its state on pages."""
    elapsed: float | None
    left: float | None
    rate: float | None
    """Items a minute, since it was last taken up."""
    n_left: int | None
    needs_budget: bool
    """Whether it goes on only with a higher limit of costs."""


def progress_of(work: LeasedWork) -> WorkProgress:
    rate = _rate(work)
    n_left = None if work.n_total is None else max(0, work.n_total - work.n_done)
    elapsed = None
    if work.started_at is not None:
        elapsed = ((work.ended_at or timezone.now()) - work.started_at).total_seconds()
    out_of_budget = work.state == State.STOPPED_BY_BUDGET
    return WorkProgress(
        status=State.CANCELLED.value if out_of_budget else work.state,
        elapsed=elapsed,
        left=n_left / rate if rate and n_left is not None else None,
        rate=rate * 60 if rate else None,
        n_left=n_left,
        needs_budget=out_of_budget,
    )


def cost_in_words(work: PaidWork) -> str:
    spent = _("%(cost)s spent") % {"cost": money(work.spent)}
    if not work.n_unpriced:
        return spent
    unpriced = ngettext(
        "%(n)s call of unknown price", "%(n)s calls of unknown price", work.n_unpriced
    ) % {"n": intcomma(work.n_unpriced)}
    return listed([spent, unpriced]) if work.spent else unpriced


def _rate(work: LeasedWork) -> float | None:
    """Items a second since it was last taken up; None while that is not known."""
    done = work.n_done - work.n_done_at_claim
    if work.state != State.RUNNING or work.claimed_at is None or done <= 0:
        return None
    seconds = (timezone.now() - work.claimed_at).total_seconds()
    return done / seconds if seconds > 0 else None
