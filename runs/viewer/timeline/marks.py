"""What stands on a timeline beside its steps: anomalies, ways back and takeovers."""

from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from itertools import groupby
from typing import NotRequired, TypedDict

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from runs.interface.sentences import listed
from runs.interface.words import money
from runs.models import Event, Run, Step
from runs.models.runs.run import hides_something
from runs.viewer.timeline.step_rows import StepRow

GIVEN_UP = "given_up"
SWITCH_BACK = "switch_back"
SIGNS = {
    Event.Kind.LOOP: "⟲",
    Event.Kind.FALSE_COMPLETION: "⚑",
    Event.Kind.ROLLBACK: "↩",
    Event.Kind.MODEL_SWITCH: "⇄",
    Event.Kind.REPLAY_DIVERGED: "≠",
    GIVEN_UP: "⊘",
    SWITCH_BACK: "⇄",
}
ANOMALIES = (Event.Kind.LOOP, Event.Kind.FALSE_COMPLETION)
MOST_DOLLARS = 10**8
HIDDEN_FROM_BLIND = (Event.Kind.FALSE_COMPLETION, Event.Kind.REPLAY_DIVERGED)
"""A detector's verdict, and what would tell how the run ended."""


class Mark(TypedDict):
    """Something over steps first..last. `to` is the step that it leads back to.

    `at_end` is there where it came after the last step, and no further one followed.
    """

    kind: str
    sign: str
    first: int
    last: int
    label: str
    to: NotRequired[int]
    at_end: NotRequired[bool]


def events_shown(run: Run) -> list[Event]:
    """What happened to the run, without what its viewer may not know. One query."""
    events = run.events.all()
    if run.is_blind:
        events = events.exclude(kind__in=HIDDEN_FROM_BLIND)
    return list(events)


def marks_of(run: Run, events: Sequence[Event], steps: Sequence[StepRow]) -> list[Mark]:
    """The marks of a timeline in the order of their first steps."""
    marks = [_mark(event, run, steps) for event in events]
    marks += _given_up(steps)
    marks += _switches_back(run, events, steps)
    return sorted(marks, key=lambda mark: (mark["first"], mark["kind"] != GIVEN_UP))


def _mark(event: Event, run: Run, steps: Sequence[StepRow]) -> Mark:
    mark: Mark = {
        "kind": event.kind,
        "sign": SIGNS.get(event.kind, "•"),
        "first": event.first_step,
        "last": event.last_step,
        "label": _label(event, run, steps),
    }
    if event.kind == Event.Kind.ROLLBACK and isinstance(to := event.detail.get("to_step"), int):
        mark["to"] = to
        if steps and not _left_a_step(steps[-1], event):
            mark["at_end"] = True
    return mark


def _label(event: Event, run: Run, steps: Sequence[StepRow]) -> str:
    """An event in words, without names or costs where the viewer may not know who acted."""
    span = _span(event.first_step, event.last_step)
    if event.kind == Event.Kind.ROLLBACK:
        return _way_back(event, run, steps)
    if event.kind == Event.Kind.MODEL_SWITCH:
        return listed((who_took_over(event, run), span))
    if event.kind == Event.Kind.REPLAY_DIVERGED:
        return listed((why_diverged(event), span))
    if event.kind == Event.Kind.LOOP:
        words, period = _("loop"), event.detail.get("period")
        if isinstance(period, int) and period:
            words = ngettext(
                "loop of %(n)s step repeated", "loop of %(n)s steps repeated", period
            ) % {"n": period}
    else:
        words = _("repeatedly declares completion or waits")
    return listed(filter(None, (words, span, _answer(event, run))))


def _span(first: int, last: int) -> str:
    if first == last:
        return _("step %(n)s") % {"n": first}
    return _("steps %(n)s") % {"n": f"{first}–{last}"}


def _answer(event: Event, run: Run) -> str:
    """What followed on an anomaly, where it was not a recovery. It tells how the run ended."""
    if hides_something(run):
        return ""
    return {
        "stopped": _("and the policy ends the run here"),
        "spent": _("and no recovery is left"),
        "refused": _("and going back is refused"),
    }.get(str(event.detail.get("answer")), "")


def _way_back(event: Event, run: Run, steps: Sequence[StepRow]) -> str:
    """Where a rollback led, and what it cost."""
    to = event.detail.get("to_step")
    if not isinstance(to, int):
        return _("back to an earlier step")
    if not isinstance(event.detail.get("replayed"), int):
        return _("back to step %(n)s") % {"n": to}
    words = _("back to the start")
    if replayed := sum(_repeats(step, event) for step in steps):
        words += ", " + ngettext("%(n)s step replayed", "%(n)s steps replayed", replayed) % {
            "n": replayed
        }
    if steps and _went_on(steps[-1], event):
        words += ", " + _("continues before step %(n)s") % {"n": to}
    abandoned = event.detail.get("abandoned")
    cost = _dollars(abandoned.get("cost")) if isinstance(abandoned, dict) else None
    if cost and not hides_something(run):
        words += " " + _("(%(cost)s wasted)") % {"cost": money(cost)}
    return words


def _dollars(said: object) -> Decimal | None:
    """The amount of a record from anywhere; None for what is none."""
    try:
        amount = Decimal(str(said))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and abs(amount) < MOST_DOLLARS else None


def _repeats(step: StepRow, event: Event) -> bool:
    """Whether the step was repeated on this way back; one without an action shows a wrong page."""
    is_within = event.first_step <= step["i"] <= event.last_step
    return is_within and step["state"] == Step.State.REPLAYED and bool(step["action"])


def _went_on(last: StepRow, event: Event) -> bool:
    """Whether the way back was not the end."""
    return last["i"] > event.last_step or last["state"] == Step.State.LIVE


def _left_a_step(last: StepRow, event: Event) -> bool:
    """Whether anything was recorded from the way back on; not if it broke before its first step."""
    return last["i"] > event.last_step or last["state"] != Step.State.SUPERSEDED


def why_diverged(event: Event) -> str:
    place = {"n": event.detail.get("repeats", "?")}
    return {
        "goal": _("the replay was given another task"),
        "page": _("the replay found another page than step %(n)s had seen"),
        "target": _("the replay found another element where step %(n)s had acted"),
        "ended": _("the task ended while step %(n)s was replayed"),
    }.get(str(event.detail.get("why")), _("replay came to another page")) % place


def who_took_over(event: Event, run: Run) -> str:
    """In words, without the name where the viewer may not know it."""
    name = None if hides_something(run) else _agent(event, "to")
    return _("%(name)s took over") % {"name": name or _("other model")}


def _agent(event: Event, side: str) -> str | None:
    """Model of an agent of a takeover (`from` or `to`), or else its name."""
    name = event.detail.get(f"{side}_model") or event.detail.get(f"{side}_agent")
    return name if isinstance(name, str) else None


def _given_up(steps: Sequence[StepRow]) -> Iterator[Mark]:
    """A mark for each stretch of steps that a rollback made undone."""
    for (state, _branch), together in groupby(
        steps, key=lambda step: (step["state"], step["branch"])
    ):
        if state != Step.State.SUPERSEDED:
            continue
        stretch = list(together)
        first, last = stretch[0]["i"], stretch[-1]["i"]
        label = f"{_('abandoned')}: {_span(first, last)}"
        yield Mark(kind=GIVEN_UP, sign=SIGNS[GIVEN_UP], first=first, last=last, label=label)


def _switches_back(run: Run, events: Sequence[Event], steps: Sequence[StepRow]) -> Iterator[Mark]:
    """A mark where the first agent goes on after another one's steps."""
    by_index = {step["i"]: step for step in steps}
    for event in events:
        after = by_index.get(event.last_step + 1)
        during = by_index.get(event.last_step)
        if event.kind != Event.Kind.MODEL_SWITCH or after is None or during is None:
            continue
        if after["branch"] != during["branch"]:
            continue  # a way back came first
        name = None if hides_something(run) else _agent(event, "from")
        label = _("%(name)s continues") % {"name": name} if name else _("the first model continues")
        at = after["i"]
        yield Mark(kind=SWITCH_BACK, sign=SIGNS[SWITCH_BACK], first=at, last=at, label=label)
