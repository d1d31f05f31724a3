"""What is being worked on right now, for the top bar."""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import QuerySet

from runs.models import ImportJob, Run, RunStatus, User

SHOWN = 30


class Jobs(NamedTuple):
    """Runs and imports that wait or work, the first of them, and how many there are in all.

    They are read when they are looked at: the number in the top bar asks for none.
    """

    runs: QuerySet[Run]
    imports: QuerySet[ImportJob]
    total: int


def jobs_in_progress(user: User) -> Jobs:
    """Runs that the person may see and their own imports. Four queries at most."""
    runs = Run.objects.shown_to(user).filter(status__in=RunStatus.active())
    imports = ImportJob.objects.active().filter(created_by=user)
    return Jobs(
        runs=runs.for_list().order_by("created_at")[:SHOWN],
        imports=imports.order_by("created_at")[:SHOWN],
        total=runs.count() + imports.count(),
    )
