"""What is being worked on right now, for the top bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.apps import apps
from django.db.models import QuerySet

from runs.models import LeasedWork, Run, RunStatus, User

SHOWN = 30


class Jobs(NamedTuple):
    """Runs and work that wait or move, the first of each kind, and how many there are in all.

    They are read when they are looked at: the number in the top bar asks for none.
    """

    runs: QuerySet[Run]
    work: Sequence[QuerySet[LeasedWork]]
    """By kind: imports, learning, evaluation."""
    total: int


def jobs_in_progress(user: User) -> Jobs:
    """Runs that the person may see, and work that they asked for; two queries a kind at most."""
    runs = Run.objects.shown_to(user).filter(status__in=RunStatus.active())
    asked_for = [kind.objects.active().filter(created_by=user) for kind in kinds_of_work()]
    return Jobs(
        runs=runs.for_list().order_by("created_at")[:SHOWN],
        work=[
            rows.select_related(*rows.model.title_reads).order_by("created_at")[:SHOWN]
            for rows in asked_for
        ],
        total=runs.count() + sum(rows.count() for rows in asked_for),
    )


def kinds_of_work() -> list[type[LeasedWork]]:
    """The models of leased work, those of the layers above included."""
    return [model for model in apps.get_models() if issubclass(model, LeasedWork)]
