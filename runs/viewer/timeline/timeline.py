"""What the timeline of a run draws, as compact data without what its viewer may not see.

Above it stands what became of a run that got stuck, in one line: each turn leads to its step. Its
end is told in words, with what recovery had to do with it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, NotRequired, TypedDict

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from runs.interface.sentences import labelled
from runs.models import Event, Run, Step, User
from runs.models.runs.run import hides_something
from runs.viewer.timeline.marks import (
    ANOMALIES,
    SIGNS,
    events_shown,
    marks_of,
    who_took_over,
    why_diverged,
)
from runs.viewer.timeline.step_rows import (
    StepRow,
    columns_of,
    kind_words,
    rows_of,
    shortened,
    step_rows,
    timeline_words,
)

ALL_AT_ONCE = 400
"""Runs of up to so many steps bring all texts with the page; longer ones bring them in parts."""
PART = 100
TEXT_CHARS = 4000
NO_BLOB = "0" * 64
SMALL = 800
"""Pages at least so wide are shown before any script runs; narrower ones are cropped by one."""
_PARTS = ["list", "picture", "pixels", "progress", "scrubber", "search", "stage", "texts", "words"]
MODULES = ("js/timeline.js", *(f"js/timeline/{name}.js" for name in _PARTS))
"""What `js/timeline.js` imports, itself included."""


class StepTexts(TypedDict):
    """The long texts of one step."""

    thought: str
    action: str
    url: str
    title: str
    error: str
    tokens: NotRequired[tuple[int | None, int | None]]
    cost: NotRequired[str | None]


_TEXTS = ("index", "thought", "action", "url", "title", "error")
_COSTS = ("input_tokens", "output_tokens", "cost")


def timeline_context(run: Run, user: User) -> dict[str, Any]:
    """Everything `runs/viewer/_timeline.html` needs, as {"timeline": ...}; three queries at most.

    For a viewer who is blind or to whom agent and model are hidden there is no reward, no end
    flag, no name, no prompt, no token count and no cost in it.
    """
    shown = _shown(run, user)
    steps, texts = _steps_and_texts(shown)
    events = events_shown(shown)
    n_given_up = sum(step["state"] == Step.State.SUPERSEDED for step in steps)
    first = steps[-1] if steps else None  # unless the address names another
    return {
        "timeline": {
            "run": shown,
            "data": _timeline_data(shown, steps, texts, events),
            "modules": MODULES,
            "first_picture": first
            and first["image"]
            and reverse("runs:run_blob", args=[run.pk, first["image"]]),
            # A small page is cropped first.
            "shows_first": bool(first and first["size"] and first["size"][0] >= SMALL),
            "course": _course_of(shown, events, steps),
            "n_given_up": n_given_up,
            # What a run that goes on has none of may still come.
            "has_marked": shown.is_active or any(step["marked"] for step in steps),
            "has_seen": any("seen" in step for step in steps),
            "has_calls": (shown.is_active and not hides_something(shown))
            or any("calls" in step for step in steps),
        }
    }


def _timeline_data(
    run: Run, steps: list[StepRow], texts: dict[int, StepTexts], events: Sequence[Event]
) -> dict[str, Any]:
    """What the scripts of a timeline read; the run is one out of `visible_to`."""
    return {
        "run": str(run.pk),
        "is_live": run.is_active,
        "steps": steps,
        "texts": texts,
        "part": PART,
        "events": marks_of(run, events, steps),
        "final": end_of(run, events, TEXT_CHARS),
        "blob_url": reverse("runs:run_blob", args=[run.pk, NO_BLOB]),
        "texts_url": reverse("runs:run_steps", args=[run.pk]),
        "step_url": reverse("runs:run_step", args=[run.pk, 0]),
        "kinds": kind_words(),
        "words": timeline_words(),
    }


def _steps_and_texts(run: Run) -> tuple[list[StepRow], dict[int, StepTexts]]:
    """The run's steps, with all their texts or the first part; one query where all come."""
    if run.n_steps > ALL_AT_ONCE:
        return step_rows(run), step_texts(run, 0)
    columns = dict.fromkeys((*columns_of(run), *_text_columns(run)))
    steps = list(run.steps.order_by("index").values(*columns))
    return rows_of(steps), {values["index"]: _texts(values) for values in steps}


def _text_columns(run: Run) -> tuple[str, ...]:
    return _TEXTS if hides_something(run) else _TEXTS + _COSTS


def step_texts(run: Run, first: int) -> dict[int, StepTexts]:
    """The texts of a part of the steps, from one on, by index. One query."""
    steps = run.steps.filter(index__gte=first, index__lt=first + PART)
    return {values["index"]: _texts(values) for values in steps.values(*_text_columns(run))}


def _shown(run: Run, user: User) -> Run:
    return run if hasattr(run, "is_blind") else Run.objects.visible_to(user, [run.pk]).get()


def _texts(values: dict[str, Any]) -> StepTexts:
    texts: StepTexts = {
        "thought": shortened(values["thought"], TEXT_CHARS),
        "action": shortened(values["action"], TEXT_CHARS),
        "url": shortened(values["url"], TEXT_CHARS),
        "title": shortened(values["title"], TEXT_CHARS),
        "error": shortened(values["error"], TEXT_CHARS),
    }
    if "cost" in values:
        texts["tokens"] = (values["input_tokens"], values["output_tokens"])
        texts["cost"] = None if values["cost"] is None else str(values["cost"])
    return texts


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
        fault = {"fault": run.get_fault_display()}
        words.append(_("%(fault)s, which does not count against the agent") % fault)
    if why := _why_ended(run, events):
        words.append(why)
    if run.error_message:
        words.append(shortened(run.error_message, ERROR_CHARS))
    sign = ""
    # An error says nothing of what a recovery would have led to.
    if run.outcome != Run.Outcome.ERROR and (_ways_back(events) or run.end_reason in _STUCK_ENDS):
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
    details = (event.detail for event in reversed(events) if event.kind in ANOMALIES)
    detail: dict[str, object] = next(details, {})
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


_ORDER = (*ANOMALIES, Event.Kind.ROLLBACK, Event.Kind.REPLAY_DIVERGED, Event.Kind.MODEL_SWITCH)
"""Of what happened at the same step."""
_ENDS = {"✓": "rescued", "✕": "stuck"}


class Turn(NamedTuple):
    """One thing that happened; `step` is where to look."""

    sign: str
    label: str
    step: int
    kind: str


def _course_of(run: Run, events: Sequence[Event], steps: Sequence[StepRow]) -> list[Turn]:
    """The turns in order, of events that the viewer may know; none where it never got stuck."""
    known = [event for event in events if event.kind in _ORDER]
    if not known or not steps:
        return []
    turns = [_turn(event, run) for event in sorted(known, key=_when)]
    if not run.is_active and not run.is_blind:
        sign = end_of(run, events, 0)["sign"]
        end = _("recovered") if sign == "✓" else run.get_end_reason_display()
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
            return Turn(sign, _("back to step %(n)s") % {"n": to}, to, event.kind)
        return Turn(sign, _("back to an earlier step"), step, event.kind)
    if event.kind == Event.Kind.MODEL_SWITCH:
        return Turn(sign, who_took_over(event, run), step, event.kind)
    if event.kind == Event.Kind.REPLAY_DIVERGED:
        return Turn(sign, _("replay came to another page"), step, event.kind)
    words = _("stuck at %(n)s") if event.kind == Event.Kind.LOOP else _("declared done at %(n)s")
    return Turn(sign, words % {"n": event.last_step}, event.last_step, event.kind)
