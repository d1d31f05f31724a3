"""Marking what the mechanical detectors find in a run that has ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

from django.db import transaction

from runs.models import Event, Run, Step
from webagent.recovery.anomalies import Span, find_false_completions, find_loops

DETECTOR = "mechanical-1"
IDLE_KINDS = ("message", "wait")


class _Seen(NamedTuple):
    """A step as the detectors see it."""

    number: int
    did: tuple[str, str]
    is_idle: bool


@transaction.atomic
def mark_anomalies(*, run_id: UUID) -> int:
    """Replace this detector's marks on the run; how many there are now.

    Two steps count as the same if they did the same on the same page: by its fingerprint where
    there is one, else by its address. Replays are no repetition, and what the run itself has
    noticed is not marked twice.
    """
    steps = (
        Step.objects.filter(run_id=run_id)
        .exclude(action="")
        .exclude(state=Step.State.REPLAYED)
        .order_by("index")
        .values_list("branch", "index", "action", "url", "kind", "record__before__fingerprint")
    )
    branches: dict[int, list[_Seen]] = defaultdict(list)
    for branch, index, action, url, kind, fingerprint in steps:
        seen = _Seen(index, (action, fingerprint or url), kind in IDLE_KINDS)
        branches[branch].append(seen)
    events = [event for branch in branches.values() for event in _found(run_id, branch)]
    Event.objects.filter(run_id=run_id, detector=DETECTOR).delete()
    told = list(Event.objects.filter(run_id=run_id, detector=""))
    events = [event for event in events if not any(_meet(event, other) for other in told)]
    Event.objects.bulk_create(events)
    if events:
        Run.objects.filter(pk=run_id, has_anomaly=False).update(has_anomaly=True)
    return len(events)


def _found(run_id: UUID, steps: list[_Seen]) -> Iterator[Event]:
    indices = [step.number for step in steps]
    for span in find_loops([step.did for step in steps]):
        yield _event(run_id, Event.Kind.LOOP, span, indices)
    for span in find_false_completions([step.is_idle for step in steps]):
        yield _event(run_id, Event.Kind.FALSE_COMPLETION, span, indices)


def _meet(one: Event, other: Event) -> bool:
    return (
        one.kind == other.kind
        and one.first_step <= other.last_step
        and other.first_step <= one.last_step
    )


def _event(run_id: UUID, kind: str, span: Span, indices: list[int]) -> Event:
    return Event(
        run_id=run_id,
        kind=kind,
        first_step=indices[span.first],
        last_step=indices[span.last],
        detector=DETECTOR,
        detail={"period": span.period},
    )
