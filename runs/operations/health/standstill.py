"""Work that waits though it could be carried out: what nobody takes is told apart from a backlog.

A backlog is no fault: all workers are busy, and the next one that is free takes the next piece. It
is one that work has waited for longer than a lease and half a minute while a worker of its queue
had room, or while there was none.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from runs.models import Run
from runs.models.clock import from_now
from runs.models.turns import firsts_in_turn
from runs.queue.jobs import kinds_of_work
from runs.queue.workers import BROWSER, SWEEP, queues_without_room

GRACE_S = 30


def patience_s() -> float:
    """For so long work may wait for a worker that has room."""
    return settings.ENV.LEASE_S + GRACE_S


def neglected() -> set[str]:
    """Queues with work that waits though it could be carried out; and the sweep, where it does."""
    waiting = set(_overdue())
    # The sweep is never too busy for it.
    return waiting - (queues_without_room(patience_s()) - {SWEEP}) if waiting else waiting


def _overdue() -> Iterable[str]:
    """The queues of work that has been claimable for too long, some more than once."""
    long_ago = from_now(-patience_s())
    if Run.objects.filter(lease_expires_at__lt=long_ago).expired().exists():
        yield SWEEP  # which alone takes a run from a worker that is gone
    firsts = [first.run_id for first in firsts_in_turn(Run.objects.all(), timezone.now())]
    queued = Coalesce("queued_at", "created_at")
    due = Run.objects.filter(pk__in=firsts).annotate(
        claimable_since=Greatest(queued, Coalesce("not_before", queued))
    )
    if due.filter(claimable_since__lt=long_ago).exists():
        yield BROWSER
    for kind in kinds_of_work():
        yield from kind.objects.claimable(longer_than_s=patience_s()).queues()
