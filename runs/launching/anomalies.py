"""Marking what the mechanical detectors find in a run that has ended."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.dispatch import receiver

from runs.models import Event, Run, Step
from runs.models.hooks import runs_ended
from runs.storage.blobs import MissingBlobError, read_blob
from webagent.recovery.anomalies import (
    KEPT,
    LoopSettings,
    Screens,
    Span,
    find_false_completions,
    find_loops,
)
from webagent.trajectory.actions import ActionKind
from webagent.trajectory.axtree import page_fingerprint

DETECTOR = "mechanical-1"
Loop = Run.Loop
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
    what the run itself has noticed is not marked twice. Runs also keep whether they have a loop
    where equal actions count on any page.
    """
    found: list[Event] = []
    loops = dict.fromkeys(run_ids, Loop.NONE)
    for (run_id, _branch), steps in _branches_of(run_ids).items():
        loop, spans = _look(steps, LoopSettings())
        loops[run_id] = max(loops[run_id], loop)
        found += _events(run_id, steps, spans)
    stored = list(Event.objects.filter(run__in=run_ids, detector__in=("", DETECTOR)))
    told = [event for event in stored if not event.detector]
    if len(told) < len(stored):
        Event.objects.filter(run__in=run_ids, detector=DETECTOR).delete()
    events = [event for event in found if not any(_meet(event, other) for other in told)]
    if events:
        Event.objects.bulk_create(events)
        marked = {event.run_id for event in events}
        Run.objects.filter(pk__in=marked, has_anomaly=False).update(has_anomaly=True)
    for loop in set(loops.values()):
        alike = [run_id for run_id, each in loops.items() if each == loop]
        Run.objects.filter(pk__in=alike).update(loop=loop)
    return len(events)


def loop_of(run_id: UUID, settings: LoopSettings) -> Run.Loop:
    """The strictest comparison under which the run has a loop in these windows; not stored."""
    branches = _branches_of([run_id]).values()
    return max((_look(steps, settings)[0] for steps in branches), default=Loop.NONE)


def _branches_of(run_ids: Sequence[UUID]) -> Mapping[tuple[UUID, int], list[_Seen]]:
    """The steps that acted, by run and branch; replays are no repetition."""
    acted = Step.objects.filter(run__in=run_ids).exclude(action="")
    rows = acted.exclude(state=Step.State.REPLAYED).order_by("run", "index")
    branches: dict[tuple[UUID, int], list[_Seen]] = defaultdict(list)
    for run_id, *seen in rows.values_list(
        *("run", "branch", "index", "action", "url", "kind", "record__before__fingerprint"),
        *("screenshot_id", "tree_id"),
    ):
        step = _Seen(*seen)
        branches[run_id, step.branch].append(step)
    return branches


def _look(steps: list[_Seen], settings: LoopSettings) -> tuple[Run.Loop, tuple[Span, ...]]:
    """Under which comparison a branch has a loop, and those that it has on equal pages.

    Steps that are equal on equal pages are equal on any: most runs need no further look.
    """
    if not find_loops([step.action for step in steps], settings):
        return Loop.NONE, ()
    spans = _loops(steps, settings)
    return Loop.ACTIONS_AND_PAGE if spans else Loop.ACTIONS, spans


def _events(run_id: UUID, steps: list[_Seen], loops: tuple[Span, ...]) -> list[Event]:
    idle = find_false_completions([step.kind in IDLE_KINDS for step in steps])
    found = [(Event.Kind.LOOP, span) for span in loops]
    found += [(Event.Kind.FALSE_COMPLETION, span) for span in idle]
    return [
        Event(
            run_id=run_id,
            kind=kind,
            first_step=steps[span.first].number,
            last_step=steps[span.last].number,
            detector=DETECTOR,
            detail={"period": span.period},
        )
        for kind, span in found
    ]


def _loops(steps: list[_Seen], settings: LoopSettings) -> tuple[Span, ...]:
    """Trees and pictures are read only where addresses and actions alone look like a loop."""
    loops = find_loops([step.did({}, {}) for step in steps], settings)
    seen = [step for span in loops for step in steps[span.first : span.last + 1]]
    bare = [step for step in seen if step.fingerprint is None and step.tree is not None]
    scrolls = [step for step in seen if step.kind == ActionKind.SCROLL]
    if not bare and not scrolls:
        return loops
    pages = {step.number: page for step in bare if (page := _page(step)) is not None}
    screens = _screens(scrolls, settings)
    return find_loops([step.did(pages, screens) for step in steps], settings)


def _screens(steps: list[_Seen], settings: LoopSettings) -> dict[int, Hashable]:
    """What each step's picture shows, by the step's number; a picture that is gone by its name."""
    names = dict.fromkeys(step.picture for step in steps)
    if len(names) == 1:
        return {}
    screens = Screens(max(KEPT, settings.longest))
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
