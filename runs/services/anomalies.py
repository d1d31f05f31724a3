"""Marking what the mechanical detectors find in a run that has ended."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from runs.models import Event, Run, Step
from webagent.recovery.anomalies import Span, find_false_completions, find_loops

DETECTOR = "mechanical-1"
IDLE_KINDS = ("message", "wait")


@transaction.atomic
def mark_anomalies(*, run_id: UUID) -> int:
    """Replace this detector's marks on the run; how many there are now.

    Two steps count as the same if they did the same on the same address.
    """
    steps = list(
        Step.objects.filter(run_id=run_id)
        .exclude(action="")
        .order_by("index")
        .values_list("index", "action", "url", "kind")
    )
    indices = [index for index, *_ in steps]
    loops = find_loops([(action, url) for _, action, url, _ in steps])
    idle = find_false_completions([kind in IDLE_KINDS for *_, kind in steps])
    events = [
        _event(run_id, kind, span, indices)
        for kind, spans in ((Event.Kind.LOOP, loops), (Event.Kind.FALSE_COMPLETION, idle))
        for span in spans
    ]
    Event.objects.filter(run_id=run_id, detector=DETECTOR).delete()
    Event.objects.bulk_create(events)
    if events:
        Run.objects.filter(pk=run_id, has_anomaly=False).update(has_anomaly=True)
    return len(events)


def _event(run_id: UUID, kind: str, span: Span, indices: list[int]) -> Event:
    return Event(
        run_id=run_id,
        kind=kind,
        first_step=indices[span.first],
        last_step=indices[span.last],
        detector=DETECTOR,
        detail={"period": span.period},
    )
