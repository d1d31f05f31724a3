"""The steps of a run as its timeline draws them, and the words of its scripts.

What the viewer may not see is left out.
"""

from collections.abc import Iterable
from itertools import pairwise, zip_longest
from typing import Any, NotRequired, TypedDict

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from runs.models import Run
from runs.models.runs.run import hides_something
from webagent.trajectory.actions import ActionKind

ACTION_CHARS = 160


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
    seen: NotRequired[bool]
    problem: NotRequired[str]
    unanswered: NotRequired[bool]
    effect: NotRequired[str]
    box: NotRequired[list[float]]
    point: NotRequired[list[float]]


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
    "url",
    "record__replays",
    "record__write_like",
    "record__before__screen_text__sha256",
)
_CALLS = ("record__llm_calls", "record__messages", "record__extra__problem")
"""Who was asked and with what success: for those to whom nothing is hidden."""


def step_rows(run: Run, first: int = 0) -> list[StepRow]:
    """The steps of the run from one on, in order. One query."""
    steps = run.steps.filter(index__gte=first) if first else run.steps.all()
    return rows_of(steps.order_by("index").values(*columns_of(run)))


def columns_of(run: Run) -> tuple[str, ...]:
    """What `rows_of` reads of each step."""
    return _COLUMNS if hides_something(run) else _COLUMNS + _CALLS


def rows_of(steps: Iterable[dict[str, Any]]) -> list[StepRow]:
    """Steps in order, from their columns."""
    listed = list(steps)
    rows = [_row(values) for values in listed]
    for row, values, after in zip_longest(rows, listed, listed[1:]):
        if effect := _effect(values, after):
            row["effect"] = effect
    for row, following in pairwise(rows):
        # What came after is what the next step saw, unless the run went back in between.
        if row["after"] is None and following["branch"] == row["branch"]:
            row["after"] = following["image"]
    return rows


def kind_words() -> dict[str, str]:
    """Kinds of actions, in words."""
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


def timeline_words() -> dict[str, str]:
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
        **_effect_words(),
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


def _effect_words() -> dict[str, str]:
    """What a step may have changed, in words."""
    return {
        "sent": _("message sent"),
        "wrote": _("form submitted"),
        "moved": _("page changed"),
        "filled": _("form filled"),
    }


def _effect(values: dict[str, Any], after: dict[str, Any] | None) -> str:
    """What the step changed, as far as its record tells without anybody's judgement."""
    if values["error"]:
        return ""
    if values["kind"] == ActionKind.MESSAGE:
        return "sent"
    if values["record__write_like"]:
        return "wrote"
    is_next = after is not None and after["branch"] == values["branch"]
    if is_next and after and after["url"] != values["url"]:
        return "moved"
    return "filled" if values["kind"] == ActionKind.TYPE else ""


def shortened(text: str, limit: int) -> str:
    """The text, or as much of it as there is room for."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def _row(values: dict[str, Any]) -> StepRow:
    row: StepRow = {
        "i": values["index"],
        "kind": values["kind"] or ActionKind.OTHER,
        "action": shortened(values["action"], ACTION_CHARS),
        "target": shortened(values["target"], ACTION_CHARS),
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
    if values["record__before__screen_text__sha256"]:
        row["seen"] = True
    if values.get("record__llm_calls") or values.get("record__messages"):
        row["calls"] = True
    if problem := _problem(values):
        row["problem"] = shortened(problem, ACTION_CHARS)
        if _last_got_nothing(values):
            row["unanswered"] = True
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
    if _last_got_nothing(values):
        return _("no reply: %(why)s") % {"why": problems[-1]}
    words = ngettext(
        "%(n)s unusable reply: %(why)s", "%(n)s unusable replies: %(why)s", len(problems)
    )
    return words % {"n": len(problems), "why": problems[-1]}


def _last_got_nothing(values: dict[str, Any]) -> bool:
    """Whether the last call broke off before a single token came, or none could be made."""
    calls = values.get("record__llm_calls")
    if not calls and not values.get("record__messages"):
        return bool(values.get("record__extra__problem"))
    last = calls[-1] if isinstance(calls, list) and calls else None
    if not isinstance(last, dict) or values.get("record__extra__problem"):
        return False
    return bool(last.get("problem")) and last.get("output_tokens") is None


def _size(width: int | None, height: int | None) -> tuple[int, int] | None:
    """Size of the picture, in whose pixels boxes and points are given."""
    return (width, height) if width and height else None


def _are_numbers(value: object, count: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == count
        and all(isinstance(part, int | float) for part in value)
    )
