"""How a run ended, in words, and what recovery had to do with it."""

from collections.abc import Sequence
from typing import TypedDict

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from runs.interface.listing import labelled
from runs.models import Event, Run
from runs.viewer.timeline.marks import ANOMALIES, why_diverged
from runs.viewer.timeline.step_rows import shortened

ERROR_CHARS = 400
"""What to do often stands at the end of what went wrong."""


class Final(TypedDict):
    """How the run ended, as far as the viewer may know: the answer, and the end in words.

    `sign` is ✓ where a stuck run was rescued, ✕ where it was not, else empty.
    """

    answer: str | None
    words: str
    sign: str


def end_of(run: Run, events: Sequence[Event], max_chars: int) -> Final:
    """The end of the run in plain words; a blind viewer learns only that it is the end."""
    answer = run.final_answer
    final: Final = {
        "answer": None if answer is None else shortened(answer, max_chars),
        "words": "",
        "sign": "",
    }
    if run.is_active:
        return final
    if run.is_blind:
        return final | {"words": _("ended")}
    words = [labelled(_("ended"), run.get_end_reason_display())]
    if run.fault:
        words.append(
            _("%(fault)s, which does not count against the agent")
            % {"fault": run.get_fault_display()}
        )
    why = _why_ended(run, events)
    if why:
        words.append(why)
    if run.error_message:
        words.append(shortened(run.error_message, ERROR_CHARS))
    sign = ""
    # An error says nothing of what a recovery would have led to.
    is_told = run.outcome != Run.Outcome.ERROR
    if is_told and (_ways_back(events) or run.end_reason in _STUCK_ENDS):
        sign = "✓" if _is_rescued(run, events) else "✕"
    return final | {"words": " · ".join(words), "sign": sign}


_STUCK_ENDS = {
    Run.EndReason.HARNESS_LOOP_STOP,
    Run.EndReason.RECOVERY_EXHAUSTED,
    Run.EndReason.RECOVERY_REFUSED,
    Run.EndReason.REPLAY_DIVERGED,
}


def _ways_back(events: Sequence[Event]) -> int:
    return sum(event.kind == Event.Kind.ROLLBACK for event in events)


def _is_rescued(run: Run, events: Sequence[Event]) -> bool:
    """Whether it succeeded after a recovery."""
    return run.outcome == Run.Outcome.SUCCESS and _ways_back(events) > 0


def _why_ended(run: Run, events: Sequence[Event]) -> str:
    """What recovery had to do with the end; empty where it had nothing."""
    n = _ways_back(events)
    detail: dict[str, object] = next(
        (e.detail for e in reversed(events) if e.kind in ANOMALIES), {}
    )
    if run.end_reason == Run.EndReason.HARNESS_LOOP_STOP:
        return _saved(detail.get("steps_saved_at_most"))
    if run.end_reason == Run.EndReason.RECOVERY_EXHAUSTED:
        return _no_help(n) if n else _("the policy allows no recovery")
    if run.end_reason == Run.EndReason.RECOVERY_REFUSED:
        writes = detail.get("writes")
        steps = ", ".join(map(str, writes)) if isinstance(writes, list) else "?"
        return _("these steps look like writes: %(steps)s") % {"steps": steps}
    if run.end_reason == Run.EndReason.REPLAY_DIVERGED:
        diverged = [event for event in events if event.kind == Event.Kind.REPLAY_DIVERGED]
        return why_diverged(diverged[-1]) if diverged else ""
    if not n or run.outcome == Run.Outcome.ERROR:
        return ""
    if _is_rescued(run, events):
        return ngettext(
            "recovered: success after %(n)s recovery",
            "recovered: success after %(n)s recoveries",
            n,
        ) % {"n": n}
    return _no_help(n)


def _no_help(n: int) -> str:
    return ngettext("%(n)s recovery did not help", "%(n)s recoveries did not help", n) % {"n": n}


def _saved(steps: object) -> str:
    if not isinstance(steps, int):
        return ""
    return ngettext("at most %(n)s step saved", "at most %(n)s steps saved", steps) % {"n": steps}
