"""What the timeline of a run draws, as compact data without what its viewer may not see.

Above it stands what became of a run that got stuck, in one line: each turn leads to its step.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, NotRequired, TypedDict

from django.urls import reverse
from django.utils.translation import gettext as _

from runs.models import Event, Run, Step, User
from runs.models.runs.run import hides_something
from runs.viewer.timeline.ends import end_of
from runs.viewer.timeline.marks import ANOMALIES, SIGNS, Mark, events_shown, marks_of, who_took_over
from runs.viewer.timeline.step_rows import (
    StepRow,
    columns_of,
    effect_words,
    rows_of,
    shortened,
    step_rows,
)
from webagent.trajectory.actions import ActionKind

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
    marks = marks_of(shown, events, steps)
    n_given_up = sum(step["state"] == Step.State.SUPERSEDED for step in steps)
    first = steps[-1] if steps else None  # unless the address names another
    return {
        "timeline": {
            "run": shown,
            "data": timeline_data(shown, steps, texts, events, marks),
            "modules": MODULES,
            "first_picture": first
            and first["image"]
            and reverse("runs:run_blob", args=[run.pk, first["image"]]),
            # A small page is cropped first.
            "shows_first": bool(first and first["size"] and first["size"][0] >= SMALL),
            "course": course_of(shown, events, steps),
            "n_given_up": n_given_up,
            # What a run that goes on has none of may still come.
            "has_marked": shown.is_active or any(step["marked"] for step in steps),
            "has_seen": any("seen" in step for step in steps),
            "has_calls": (shown.is_active and not hides_something(shown))
            or any("calls" in step for step in steps),
        }
    }


def timeline_data(
    run: Run,
    steps: list[StepRow],
    texts: dict[int, StepTexts],
    events: Sequence[Event],
    marks: list[Mark],
) -> dict[str, Any]:
    """What the scripts of a timeline read; the run is one out of `visible_to`."""
    return {
        "run": str(run.pk),
        "is_live": run.is_active,
        "steps": steps,
        "texts": texts,
        "part": PART,
        "events": marks,
        "final": end_of(run, events, TEXT_CHARS),
        "blob_url": reverse("runs:run_blob", args=[run.pk, NO_BLOB]),
        "texts_url": reverse("runs:run_steps", args=[run.pk]),
        "step_url": reverse("runs:run_step", args=[run.pk, 0]),
        "kinds": _kind_words(),
        "words": _words(),
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
    if hasattr(run, "is_blind"):
        return run
    return Run.objects.visible_to(user, [run.pk]).get()


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


def _kind_words() -> dict[str, str]:
    return {
        ActionKind.CLICK: _("click"),
        ActionKind.POINT: _("point at"),
        ActionKind.TYPE: _("type"),
        ActionKind.NAV: _("go to"),
        ActionKind.SCROLL: _("scroll"),
        ActionKind.KEY: _("key"),
        ActionKind.MESSAGE: _("message"),
        ActionKind.WAIT: _("wait"),
        ActionKind.TAB: _("tab"),
        ActionKind.OTHER: _("other"),
    }


def _words() -> dict[str, str]:
    """Phrases that the script puts together; %n and the like are filled in there."""
    return {
        "no_action": _("no action"),
        "no_picture": _("No screenshot was recorded here."),
        "no_steps": _("No steps."),
        "no_tree": _("No accessibility tree was recorded here."),
        "failed": _("error"),
        "superseded": _("abandoned"),
        "replayed": _("replayed"),
        "replays": _("repeats step %(n)s") % {"n": "%n"},
        "by_other": _("other model"),
        "looped": _("in the loop"),
        "claimed": _("declares completion"),
        **effect_words(),
        "problem": _("reply unusable"),
        "unanswered": _("no reply"),
        "branch": _("branch %(n)s") % {"n": "%n"},
        "identical": _("%n identical steps"),
        "looping": _("%n more steps of the loop"),
        "step_of": _("step %i / %n"),
        "before_alt": _("Page before step %(n)s") % {"n": "%i"},
        "after_alt": _("Page after step %i"),
        "marked_alt": _("Page before step %i with the elements numbered"),
        "changes": _("changes since step %i: %n"),
        "changes_all": _("most of the page changed since step %i"),
        "changes_none": _("nothing changed since step %i"),
        "changes_unknown": _("no picture to compare"),
        "hits": _("%i of %n"),
        "no_hits": _("not found"),
        "step_hits": _("found: %n"),
        "progress_highest": _("highest %n"),
        "progress_end": _("at the end %n"),
        "progress_reached": _("reached: %n"),
        "progress_lost": _("lost: %n"),
        "seconds": _("%(n)s s") % {"n": "%n"},
        "minutes": _("%(m)s min") % {"m": "%n"},
        "tokens": _("%in in, %out out"),
        "no_price": _("price unknown"),
        "loading": _("Loading …"),
        "live_steps": _("%n steps so far"),
        "live_ended": _("The run has ended."),
        "live_new": _("%n new"),
        "live_lost": _("No connection; retrying."),
        "heard": _("heard %n ago"),
        "failed_load": _("Loading failed. Choose the step again to retry."),
    }


_ORDER = (*ANOMALIES, Event.Kind.ROLLBACK, Event.Kind.REPLAY_DIVERGED, Event.Kind.MODEL_SWITCH)
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
