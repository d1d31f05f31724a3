"""Long work in the background: states, leases, and counters that equal the rows."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import F, Q

from runs.models import ImportJob, LearningItem, LearningJob, LeasedWork
from runs.operations.integrity.contract import Invariant, number_of
from runs.queue.jobs import kinds_of_work

State = LeasedWork.State
ACTIVE = (State.QUEUED, State.RUNNING)


def leased_work() -> Iterator[Invariant]:
    """What holds of every kind of work, those of the apps above included, and of learning."""
    for kind in kinds_of_work():
        yield from _states(kind)
    # Those that came with a file have no items.
    worked = LearningJob.objects.filter(lease_token__gt=0, n_total__isnull=False)
    items = LearningItem.objects.all()
    yield Invariant(
        lambda: worked.annotate(rows=number_of(items, "job")).exclude(rows=F("n_total")),
        "n_total is {n_total}, and it has {rows} items",
        ("n_total", "rows"),
    )
    done = items.filter(is_done=True)
    yield Invariant(
        lambda: worked.annotate(rows=number_of(done, "job")).exclude(rows=F("n_done")),
        "n_done is {n_done}, and {rows} of its items are done",
        ("n_done", "rows"),
    )
    yield Invariant(
        lambda: worked.filter(state=State.FINISHED, n_done__lt=F("n_total")),
        "it has finished with {n_done} of {n_total} done",
        ("n_done", "n_total"),
    )
    imports = ImportJob.objects.filter(state=State.FINISHED)
    yield Invariant(
        lambda: imports.filter(only_looks=False, report={}), "it has finished without a report"
    )
    yield Invariant(
        lambda: imports.filter(only_looks=True, survey={}), "it has finished without a survey"
    )


def _states(kind: type[LeasedWork]) -> Iterator[Invariant]:
    def never(condition: Q, why: str) -> Invariant:
        return Invariant(lambda: kind.objects.filter(condition), why, ("state",))

    yield never(~Q(state__in=State.values), "state {state} is none")
    no_lease = Q(lease_token=0) | Q(lease_expires_at=None)
    yield never(
        Q(state=State.RUNNING) & (no_lease | Q(claimed_at=None) | Q(started_at=None)),
        "it runs without a whole lease (token, end, claim, start)",
    )
    yield never(
        ~Q(state=State.RUNNING) & Q(lease_expires_at__isnull=False), "it is {state} and leased"
    )
    yield never(Q(state__in=ACTIVE, ended_at__isnull=False), "it is {state} and has ended")
    yield never(
        # What came with a file was never taken up here.
        Q(state__in=set(State) - set(ACTIVE), ended_at=None) & Q(lease_token__gt=0),
        "it is {state}, and nobody noted when it ended",
    )
