"""Where a run stands: state, lease, ending."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Q

from runs.models import Run, RunStatus
from runs.operations.integrity.contract import Invariant
from webagent.trajectory.pushed.runs import PUSH_FORMAT

HELD = (RunStatus.LEASED, RunStatus.RUNNING)
WORDS = (("status", RunStatus), ("outcome", Run.Outcome), ("end_reason", Run.EndReason))
OF_OUR_QUEUE = Q(queued_at__isnull=False)
"""Imported runs end as their file says, and some files do not say when."""
HAS_ENDING = (
    ~Q(outcome=Run.Outcome.UNKNOWN)
    | ~Q(end_reason=Run.EndReason.UNKNOWN)
    | Q(ended_at__isnull=False)
    | Q(content_hash__isnull=False)
    | ~Q(fault="")
)


def run_states() -> Iterator[Invariant]:
    """What holds of a run by itself."""
    for name, words in WORDS:
        yield _never(~Q(**{f"{name}__in": words.values}), f"{name} {{{name}}} is none", name)
    waiting = Q(status=RunStatus.QUEUED)
    held = Q(status__in=HELD)
    ended = Q(status__in=RunStatus.ended())
    pushed = Q(source_format=PUSH_FORMAT)
    yield _never(
        waiting & (~Q(lease_owner="") | Q(lease_expires_at__isnull=False)),
        "it waits, and {lease_owner} holds a lease on it until {lease_expires_at}",
        "lease_owner",
        "lease_expires_at",
    )
    no_lease = Q(lease_owner="") | Q(lease_token=0) | Q(lease_expires_at=None)
    yield _never(
        held & (no_lease | (Q(claimed_at=None) & ~pushed) | Q(heartbeat_at=None)),
        "it is {status} without a whole lease (owner, token, end, claim, heartbeat)",
        "status",
    )
    yield _never(ended & Q(lease_expires_at__isnull=False), "it has ended and is still leased")
    not_started = Q(status__in=(RunStatus.QUEUED, RunStatus.LEASED)) & Q(started_at__isnull=False)
    yield _never(not_started, "it is {status} and has started", "status")
    yield _never(Q(status=RunStatus.RUNNING, started_at=None), "it runs and has not started")
    yield _never(
        Q(status__in=RunStatus.active()) & HAS_ENDING,
        "it is {status} and has an ending ({outcome}, {end_reason})",
        "status",
        "outcome",
        "end_reason",
    )
    yield _never(ended & OF_OUR_QUEUE & Q(ended_at=None), "it has ended, and nobody noted when")
    yield _never(
        Q(status=RunStatus.FINISHED, content_hash=None), "it has finished without a content hash"
    )
    yield _never(pushed & waiting, "it is pushed from elsewhere, and waits for a worker")
    yield _never(
        pushed & held & (~Q(status=RunStatus.RUNNING) | ~Q(lease_token=1)),
        "it is pushed from elsewhere, and a worker has claimed it",
    )
    yield from _endings()


def _endings() -> Iterator[Invariant]:
    """Status, outcome and reason say the same."""
    told = ("status", "outcome", "end_reason")
    why = "status {status} does not go with outcome {outcome} and end reason {end_reason}"
    cancelled = Q(end_reason=Run.EndReason.CANCELLED)
    error = Q(outcome=Run.Outcome.ERROR)
    yield _never(Q(status=RunStatus.CANCELLED) & ~cancelled, why, *told)
    yield _never(Q(status=RunStatus.FINISHED) & cancelled, why, *told)
    yield _never(Q(status=RunStatus.FAILED) & ~error, why, *told)
    # Other tools' runs have finished, however they went.
    yield _never(Q(status=RunStatus.FINISHED) & error & OF_OUR_QUEUE, why, *told)


def _never(condition: Q, why: str, *told: str) -> Invariant:
    return Invariant(lambda: Run.objects.filter(condition), why, told)
