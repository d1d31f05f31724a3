"""What became of a run that got stuck, in one line: each turn leads to its step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from django.utils.translation import gettext as _

from runs.models import Event, Run
from runs.models.runs.run import hides_something
from runs.viewer.timeline.marks import ANOMALIES, SIGNS, end_of, switched_to
from runs.viewer.timeline.step_rows import StepRow

if TYPE_CHECKING:
    from runs.models.runs.run import ShownRun

_ORDER = (
    *ANOMALIES,
    Event.Kind.ROLLBACK,
    Event.Kind.REPLAY_DIVERGED,
    Event.Kind.MODEL_SWITCH,
)
"""Of what happened at the same step."""
_ENDS = {"✓": "rescued", "✕": "stuck"}


class Turn(NamedTuple):
    """One thing that happened; `step` is where to look."""

    sign: str
    label: str
    step: int
    kind: str


def course_of(run: Run, events: Sequence[Event], steps: Sequence[StepRow]) -> list[Turn]:
    """The turns in order, of events that the viewer may know; none where it never got stuck."""
    known = [event for event in events if event.kind in _ORDER]
    if not known or not steps:
        return []
    turns = [_turn(event, run) for event in sorted(known, key=_when)]
    if not run.is_active and not cast("ShownRun", run).is_blind:
        sign = end_of(run, events, 0)["sign"]
        end = _("recovered") if sign == "✓" else _end_words(run)
        turns.append(Turn(sign, end, steps[-1]["i"], _ENDS.get(sign, "end")))
    return turns


def _when(event: Event) -> tuple[int, int]:
    # An anomaly is seen at its end.
    at = event.last_step if event.kind in ANOMALIES else event.first_step
    return at, _ORDER.index(Event.Kind(event.kind))


def _turn(event: Event, run: Run) -> Turn:
    sign, step = SIGNS[Event.Kind(event.kind)], event.first_step
    if event.kind == Event.Kind.ROLLBACK:
        to = event.detail.get("to_step")
        if isinstance(to, int):
            return Turn(sign, _("back to %(n)s") % {"n": to}, to, event.kind)
        return Turn(sign, _("went back"), step, event.kind)
    if event.kind == Event.Kind.MODEL_SWITCH:
        name = None if hides_something(run) else switched_to(event)
        words = _("%(name)s took over") % {"name": name} if name else _("another model took over")
        return Turn(sign, words, step, event.kind)
    if event.kind == Event.Kind.REPLAY_DIVERGED:
        return Turn(sign, _("replay came to another page"), step, event.kind)
    words = _("stuck at %(n)s") if event.kind == Event.Kind.LOOP else _("declared done at %(n)s")
    return Turn(sign, words % {"n": event.last_step}, event.last_step, event.kind)


def _end_words(run: Run) -> str:
    if run.end_reason == Run.EndReason.RECOVERY_EXHAUSTED:
        return _("out of attempts")
    return str(run.get_end_reason_display())
