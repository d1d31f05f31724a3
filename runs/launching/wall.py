"""The wall: runs under way with their last screenshots, and own ones that have just ended."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from runs.interface.requests import AppRequest, needs, wants_partial
from runs.models import Run, RunStatus, User
from runs.models.runs.queries import RunQuerySet
from runs.models.steps import last_screenshot
from runs.models.visibility import visibility_of

MOST = 12
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
        for run in shown.filter(status=status).order_by("created_at", "pk")[:MOST]
    )
    # By the index of who launched it; imported runs were never claimed.
    ended = shown.filter(created_by=user, ended_at__gt=now - STAYS, claimed_at__isnull=False)
    rows = [*running, *ended.order_by("-ended_at")[:MOST]]
    return [
        LiveRun(
            run,
            run.last_picture,
            ((run.ended_at or now) - run.started_at).total_seconds() if run.started_at else None,
        )
        for run in rows[:MOST]
    ]


@require_safe
@vary_on_headers("HX-Request")
@needs("runs.rerun_run")
def live_wall(request: AppRequest) -> HttpResponse:
    """All runs under way that the person may see.

    The page asks again, and less often while there are none; embedded in another page (`embedded`)
    it stops then. Where it was empty (`empty`) and still is, nothing is swapped.
    """
    visibility = visibility_of(request.user)
    runs = Run.objects.visible_with(visibility).filter(superseded=False)
    wall = wall_of(runs.named(visibility), request.user)
    if not wall and "empty" in request.GET and wants_partial(request):
        return HttpResponse(status=204)
    context = {"wall": wall, "is_embedded": "embedded" in request.GET}
    return render(request, "runs/launching/live_wall.html", context)
