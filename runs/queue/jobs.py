"""What is being worked on right now, for the top bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.apps import apps
from django.db.models import QuerySet

from runs.models import LeasedWork, Run, RunStatus, User
from runs.models.visibility import visibility_of

SHOWN = 30


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
    """Runs that the person may see, and work that they asked for; two queries a kind at most."""
    visibility = visibility_of(user)
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


def kinds_of_work() -> list[type[LeasedWork]]:
    """The models of leased work, those of the layers above included."""
    return [model for model in apps.get_models() if issubclass(model, LeasedWork)]
