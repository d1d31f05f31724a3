"""What the timeline of a run draws, as compact data without what its viewer may not see."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NotRequired, TypedDict

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from runs.models import Event, Run, Step, User
from runs.timeline_marks import (
    Mark,
    course_title,
    end_of,
    events_shown,
    hides_something,
    marks_of,
)
from webagent.trajectory.actions import ActionKind

ALL_AT_ONCE = 400
"""Runs of up to so many steps bring all texts with the page; longer ones bring them in parts."""
PART = 100
ACTION_CHARS = 160
TEXT_CHARS = 4000
NO_BLOB = "0" * 64


class StepRow(TypedDict):
    """One step as the list and the picture need it; keys are short, there may be thousands."""

    i: int
    kind: str
    action: str
    target: str
    seconds: float | None
    failed: bool
    state: str
    branch: int
    image: str | None
    thumb: str | None
    after: str | None
    marked: str | None
    tree: str | None
    size: tuple[int, int] | None
    replays: NotRequired[int]
    calls: NotRequired[bool]
    problem: NotRequired[str]
    box: NotRequired[list[float]]
    point: NotRequired[list[float]]


class StepTexts(TypedDict):
    """The long texts of one step."""

    thought: str
    action: str
    url: str
    title: str
    error: str
    tokens: NotRequired[tuple[int | None, int | None]]
    cost: NotRequired[str | None]


_COLUMNS = (
    "index",
    "kind",
    "action",
    "target",
    "seconds",
    "error",
    "state",
    "branch",
    "box",
    "point",
    "screenshot_id",
    "screenshot__thumbnail_id",
    "screenshot__width",
    "screenshot__height",
    "after_screenshot_id",
    "marked_screenshot_id",
    "tree_id",
    "record__replays",
)
_CALLS = ("record__llm_calls", "record__messages", "record__extra__problem")
"""Who was asked and with what success: for those to whom nothing is hidden."""
_TEXTS = ("index", "thought", "action", "url", "title", "error")
_COSTS = ("input_tokens", "output_tokens", "cost")


def timeline_context(run: Run, user: User) -> dict[str, Any]:
    """Everything `runs/_timeline.html` needs, as {"timeline": ...}; four queries at most.

    For a viewer who is blind or to whom agent and model are hidden there is no reward, no end
    flag, no name, no prompt, no token count and no cost in it.
    """
    shown = _shown(run, user)
    steps = step_rows(shown)
    events = events_shown(shown)
    marks = marks_of(shown, events, steps)
    n_given_up = sum(step["state"] == Step.State.SUPERSEDED for step in steps)
    return {
        "timeline": {
            "run": shown,
            "data": timeline_data(shown, steps, events, marks),
            "marks": marks,
            "course": course_title(shown, events, n_given_up),
            "n_given_up": n_given_up,
            "has_marked": any(step["marked"] for step in steps),
            "has_calls": any("calls" in step for step in steps),
        }
    }


def timeline_data(
    run: Run, steps: list[StepRow], events: Sequence[Event], marks: list[Mark]
) -> dict[str, Any]:
    """What the scripts of a timeline read; the run is one out of `shown_to`. One query."""
    return {
        "run": str(run.pk),
        "steps": steps,
        "texts": step_texts(run, 0, ALL_AT_ONCE if len(steps) <= ALL_AT_ONCE else PART),
        "part": PART,
        "events": marks,
        "final": end_of(run, events, TEXT_CHARS),
        "blob_url": reverse("runs:run_blob", args=[run.pk, NO_BLOB]),
        "texts_url": reverse("runs:run_steps", args=[run.pk]),
        "step_url": reverse("runs:run_step", args=[run.pk, 0]),
        "kinds": _kind_words(),
        "words": _words(),
    }


def step_rows(run: Run) -> list[StepRow]:
    """All steps of the run, in order. One query."""
    columns = _COLUMNS if hides_something(run) else _COLUMNS + _CALLS
    rows = [_row(values) for values in run.steps.order_by("index").values(*columns)]
    for row, following in pairwise(rows):
        # What came after is what the next step saw, unless the run went back in between.
        if row["after"] is None and following["branch"] == row["branch"]:
            row["after"] = following["image"]
    return rows


def step_texts(run: Run, first: int, count: int) -> dict[int, StepTexts]:
    """The texts of steps first..first+count-1, by index. One query."""
    shows_costs = not hides_something(run)
    columns = _TEXTS + _COSTS if shows_costs else _TEXTS
    steps = run.steps.filter(index__gte=first, index__lt=first + count)
    return {values["index"]: _texts(values) for values in steps.values(*columns)}


def _shown(run: Run, user: User) -> Run:
    if hasattr(run, "is_blind"):
        return run
    return Run.objects.shown_to(user).get(pk=run.pk)


def _row(values: dict[str, Any]) -> StepRow:
    row: StepRow = {
        "i": values["index"],
        "kind": values["kind"] or ActionKind.OTHER,
        "action": _short(values["action"], ACTION_CHARS),
        "target": _short(values["target"], ACTION_CHARS),
        "seconds": values["seconds"],
        "failed": bool(values["error"]),
        "state": values["state"],
        "branch": values["branch"],
        "image": values["screenshot_id"],
        "thumb": values["screenshot__thumbnail_id"],
        "after": values["after_screenshot_id"],
        "marked": values["marked_screenshot_id"],
        "tree": values["tree_id"],
        "size": _size(values["screenshot__width"], values["screenshot__height"]),
    }
    if _are_numbers(values["box"], 4):
        row["box"] = values["box"]
    if _are_numbers(values["point"], 2):
        row["point"] = values["point"]
    if isinstance(replays := values["record__replays"], int):
        row["replays"] = replays
    if values.get("record__llm_calls") or values.get("record__messages"):
        row["calls"] = True
    if problem := _problem(values):
        row["problem"] = _short(problem, ACTION_CHARS)
    return row


def _problem(values: dict[str, Any]) -> str:
    """What was wrong with the model's replies, whether or not one could be used in the end."""
    if problem := values.get("record__extra__problem"):
        return str(problem)
    calls = values.get("record__llm_calls")
    problems = [
        str(call["problem"])
        for call in (calls if isinstance(calls, list) else [])
        if isinstance(call, dict) and call.get("problem")
    ]
    if not problems:
        return ""
    words = ngettext(
        "%(n)s unusable reply: %(why)s", "%(n)s unusable replies: %(why)s", len(problems)
    )
    return words % {"n": len(problems), "why": problems[-1]}


def _size(width: int | None, height: int | None) -> tuple[int, int] | None:
    """Size of the picture, in whose pixels boxes and points are given."""
    return (width, height) if width and height else None


def _are_numbers(value: object, count: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == count
        and all(isinstance(part, int | float) for part in value)
    )


def _texts(values: dict[str, Any]) -> StepTexts:
    texts: StepTexts = {
        "thought": _short(values["thought"], TEXT_CHARS),
        "action": _short(values["action"], TEXT_CHARS),
        "url": _short(values["url"], TEXT_CHARS),
        "title": _short(values["title"], TEXT_CHARS),
        "error": _short(values["error"], TEXT_CHARS),
    }
    if "cost" in values:
        texts["tokens"] = (values["input_tokens"], values["output_tokens"])
        texts["cost"] = None if values["cost"] is None else str(values["cost"])
    return texts


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def _kind_words() -> dict[str, str]:
    return {
        ActionKind.CLICK: _("click"),
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
        "no_steps": _("No steps were recorded of this run."),
        "no_tree": _("No accessibility tree was recorded here."),
        "failed": _("error"),
        "superseded": _("given up"),
        "replayed": _("replayed"),
        "replays": _("repeats step %n"),
        "by_other": _("other model"),
        "looped": _("in the loop"),
        "claimed": _("says it is done"),
        "problem": _("reply unusable"),
        "branch": _("branch %n"),
        "identical": _("%n identical steps"),
        "looping": _("%n more steps of the loop"),
        "step_of": _("step %i / %n"),
        "before_alt": _("Page before step %i"),
        "after_alt": _("Page after step %i"),
        "marked_alt": _("Page before step %i with the elements numbered"),
        "hits": _("%i of %n"),
        "no_hits": _("not found"),
        "progress_highest": _("highest %n"),
        "progress_end": _("at the end %n"),
        "progress_reached": _("reached: %n"),
        "progress_lost": _("lost: %n"),
        "seconds": _("%n s"),
        "tokens": _("%in in, %out out"),
        "loading": _("Loading …"),
        "failed_load": _("Could not be loaded. Choose the step again to retry."),
    }
