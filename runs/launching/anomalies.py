"""Marking what the mechanical detectors find in a run that has ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.dispatch import receiver

from runs.models import Event, Run, Step
from runs.models.hooks import runs_ended
from runs.storage.blobs import MissingBlobError, read_blob
from webagent.recovery.anomalies import Screens, Span, find_false_completions, find_loops
from webagent.trajectory.actions import ActionKind
from webagent.trajectory.axtree import page_fingerprint

DETECTOR = "mechanical-1"
IDLE_KINDS = ("message", "wait")


class _Seen(NamedTuple):
    """A step as the detectors see it."""

    branch: int
    number: int
    action: str
    url: str
    kind: str
    fingerprint: str | None
    picture: str | None
    tree: str | None

    @property
    def is_idle(self) -> bool:
        return self.kind in IDLE_KINDS

    @property
    def is_scroll(self) -> bool:
        return self.kind == ActionKind.SCROLL

    def did(self, pages: Mapping[int, str], screens: Mapping[int, Hashable]) -> Hashable:
        """Equal for steps that did the same on the same page, as `what_was_done` has it."""
        page = self.fingerprint or pages.get(self.number, self.url)
        return (self.action, page, screens.get(self.number))


@receiver(runs_ended)
def look_for_anomalies(sender: object, run_ids: Sequence[UUID], **_: Any) -> None:
    """Every run that has ended is looked at once."""
    mark_anomalies(run_ids=run_ids)


@transaction.atomic
def mark_anomalies(*, run_ids: Sequence[UUID]) -> int:
    """Replace this detector's marks on the runs; how many there are now.

    Two steps count as the same if they did the same on the same page: by its fingerprint (made
    from its tree where a run came without), else by its address. Replays are no repetition, and
    what the run itself has noticed is not marked twice.
    """
    rows = _steps_of(run_ids).values_list(
        *("run", "branch", "index", "action", "url", "kind", "record__before__fingerprint"),
        *("screenshot_id", "tree_id"),
    )
    branches: dict[tuple[UUID, int], list[_Seen]] = defaultdict(list)
    for run_id, *seen in rows:
        step = _Seen(*seen)
        branches[run_id, step.branch].append(step)
    found = [event for (run_id, _), steps in branches.items() for event in _found(run_id, steps)]
    stored = list(Event.objects.filter(run__in=run_ids, detector__in=("", DETECTOR)))
    told = [event for event in stored if not event.detector]
    if len(told) < len(stored):
        Event.objects.filter(run__in=run_ids, detector=DETECTOR).delete()
    events = [event for event in found if not any(_meet(event, other) for other in told)]
    if events:
        Event.objects.bulk_create(events)
        marked = {event.run_id for event in events}
        Run.objects.filter(pk__in=marked, has_anomaly=False).update(has_anomaly=True)
    return len(events)


def loops_by_actions(run_id: UUID) -> bool:
    """Whether the run has a loop where steps of equal actions count as the same on any page."""
    branches: dict[int, list[str]] = defaultdict(list)
    for branch, action in _steps_of([run_id]).values_list("branch", "action"):
        branches[branch].append(action)
    return any(find_loops(actions) for actions in branches.values())


def _steps_of(run_ids: Sequence[UUID]) -> QuerySet[Step]:
    """The steps that acted; replays are no repetition."""
    steps = Step.objects.filter(run__in=run_ids).exclude(action="")
    return steps.exclude(state=Step.State.REPLAYED).order_by("run", "index")


def _found(run_id: UUID, steps: list[_Seen]) -> Iterator[Event]:
    indices = [step.number for step in steps]
    for span in _loops(steps):
        yield _event(run_id, Event.Kind.LOOP, span, indices)
    for span in find_false_completions([step.is_idle for step in steps]):
        yield _event(run_id, Event.Kind.FALSE_COMPLETION, span, indices)


def _loops(steps: list[_Seen]) -> tuple[Span, ...]:
    """Trees and pictures are read only where addresses and actions alone look like a loop."""
    loops = find_loops([step.did({}, {}) for step in steps])
    seen = [step for span in loops for step in steps[span.first : span.last + 1]]
    bare = [step for step in seen if step.fingerprint is None and step.tree is not None]
    scrolls = [step for step in seen if step.is_scroll]
    if not bare and not scrolls:
        return loops
    pages = {step.number: page for step in bare if (page := _page(step)) is not None}
    screens = _screens(scrolls)
    return find_loops([step.did(pages, screens) for step in steps])


def _screens(steps: list[_Seen]) -> dict[int, Hashable]:
    """What each step's picture shows, by the step's number; a picture that is gone by its name."""
    names = dict.fromkeys(step.picture for step in steps)
    if len(names) == 1:
        return {}
    screens = Screens()
    shown: dict[str | None, Hashable] = {}
    for name in names:
        try:
            shown[name] = screens.number(read_blob(name)) if name else None
        except MissingBlobError:
            shown[name] = name
    return {step.number: shown[step.picture] for step in steps}


def _page(step: _Seen) -> str | None:
    """The fingerprint of the page that its tree and address tell; None if the tree is gone."""
    try:
        tree = read_blob(step.tree or "").decode("utf-8", "replace")
    except MissingBlobError:
        return None
    return page_fingerprint(step.url, tree)


def _meet(one: Event, other: Event) -> bool:
    return (
        one.run_id == other.run_id
        and one.kind == other.kind
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
