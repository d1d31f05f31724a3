"""What the timeline of a run draws, as compact data without what its viewer may not see."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from runs.models import Event, Run, Step, User
from webagent.trajectory.actions import ActionKind

if TYPE_CHECKING:
    from runs.visibility import ShownRun

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


class Mark(TypedDict):
    """An event over steps first..last."""

    kind: str
    first: int
    last: int
    label: str


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
)
_TEXTS = ("index", "thought", "action", "url", "title", "error")
_COSTS = ("input_tokens", "output_tokens", "cost")


def timeline_context(run: Run, user: User) -> dict[str, Any]:
    """Everything `runs/_timeline.html` needs, as {"timeline": ...}; three queries at most.

    For a viewer who is blind or to whom agent and model are hidden there is no reward, no end
    flag, no name, no token count and no cost in it.
    """
    shown = _shown(run, user)
    steps = step_rows(shown)
    texts = step_texts(shown, 0, ALL_AT_ONCE if len(steps) <= ALL_AT_ONCE else PART)
    return {
        "timeline": {
            "run": shown,
            "data": {
                "run": str(shown.pk),
                "steps": steps,
                "texts": texts,
                "part": PART,
                "events": [_mark(event, shown) for event in _events(shown)],
                "final": _final(shown),
                "blob_url": reverse("runs:run_blob", args=[shown.pk, NO_BLOB]),
                "texts_url": reverse("runs:run_steps", args=[shown.pk]),
                "step_url": reverse("runs:run_step", args=[shown.pk, 0]),
                "kinds": _kind_words(),
                "words": _words(),
            },
            "has_marked": any(step["marked"] for step in steps),
        }
    }


def step_rows(run: Run) -> list[StepRow]:
    """All steps of the run, in order. One query."""
    rows = [_row(values) for values in run.steps.order_by("index").values(*_COLUMNS)]
    for row, following in pairwise(rows):
        # What came after is what the next step saw, unless the run went back in between.
        if row["after"] is None and following["branch"] == row["branch"]:
            row["after"] = following["image"]
    return rows


def step_texts(run: Run, first: int, count: int) -> dict[int, StepTexts]:
    """The texts of steps first..first+count-1, by index. One query."""
    shows_costs = not hides_something(run)
    columns = _TEXTS + _COSTS if shows_costs else _TEXTS
    steps = cast("QuerySet[Step]", run.steps.filter(index__gte=first, index__lt=first + count))
    return {values["index"]: _texts(values) for values in steps.values(*columns)}


def _shown(run: Run, user: User) -> Run:
    if hasattr(run, "is_blind"):
        return run
    return Run.objects.shown_to(user).get(pk=run.pk)


def _events(run: Run) -> QuerySet[Event]:
    """What is marked on the timeline; for a blind viewer without a detector's verdicts."""
    events = run.events.all()
    if cast("ShownRun", run).is_blind:
        return events.exclude(kind=Event.Kind.FALSE_COMPLETION)
    return events


def hides_something(run: Run) -> bool:
    """Whether the viewer that the run was read for is blind on it, or names are hidden."""
    shown = cast("ShownRun", run)
    return shown.is_blind or shown.is_anonymous


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
    return row


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


def _mark(event: Event, run: Run) -> Mark:
    return {
        "kind": event.kind,
        "first": event.first_step,
        "last": event.last_step,
        "label": _label(event, run),
    }


def _label(event: Event, run: Run) -> str:
    """An event in words, without names where the models are hidden."""
    count = event.last_step - event.first_step + 1
    span = (
        _("step %(first)s") if count == 1 else _("steps %(first)s–%(last)s")  # noqa: RUF001
    ) % {"first": event.first_step, "last": event.last_step}
    words = {
        Event.Kind.LOOP: _("loop"),
        Event.Kind.FALSE_COMPLETION: _("says it is done, again and again"),
        Event.Kind.MODEL_SWITCH: _("another model takes over"),
        Event.Kind.REPLAY_DIVERGED: _("the replay came to another page"),
    }
    if event.kind == Event.Kind.ROLLBACK:
        target = event.detail.get("to_step")
        return _("back to step %(n)s") % {"n": target} if target is not None else _("went back")
    if event.kind == Event.Kind.MODEL_SWITCH and not hides_something(run):
        model = event.detail.get("to_model") or event.detail.get("to_agent")
        if isinstance(model, str):
            return f"{_('model %(name)s takes over') % {'name': model}}, {span}"
    return f"{words.get(cast('Event.Kind', event.kind), event.kind)}, {span}"


def _final(run: Run) -> dict[str, str | None]:
    """How the run ended, as far as the viewer may know: the answer, and the end in words."""
    shown = cast("ShownRun", run)
    if run.is_active:
        words = ""
    elif shown.is_blind:
        words = _("end of the run")
    else:
        words = _("ended: %(reason)s") % {"reason": run.get_end_reason_display()}
        if run.error_message:
            words = f"{words} · {_short(run.error_message, ACTION_CHARS)}"
    answer = run.final_answer
    return {"answer": None if answer is None else _short(answer, TEXT_CHARS), "words": words}


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
        "branch": _("branch %n"),
        "identical": _("%n identical steps"),
        "looping": _("%n more steps of the loop"),
        "step_of": _("step %i / %n"),
        "before_alt": _("Page before step %i"),
        "after_alt": _("Page after step %i"),
        "marked_alt": _("Page before step %i with the elements numbered"),
        "hits": _("%i of %n"),
        "no_hits": _("not found"),
        "seconds": _("%n s"),
        "tokens": _("%in in, %out out"),
        "loading": _("Loading …"),
        "failed_load": _("Could not be loaded. Choose the step again to retry."),
    }
