"""MiniWoB++ as a suite that is measured: which tasks count, which do not and why, and their kinds.

The tasks and the exclusions are those of a Japanese study of an agent that reads screenshots as
text and acts by coordinates. It took its tasks from the 104 that earlier work reports on and left
30 out. It does not print which of the rest are of one step: that division is ours, made from the
pages by its definition (see `ONE_STEP`).
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

TASK_SET = "miniwob"


class Exclusion(StrEnum):
    """Why a task is not measured unless somebody wants it."""

    DEBUG = "debug"
    REACTION = "reaction"
    DRIVER = "driver"
    UNCLEAR = "unclear"
    BOXES = "boxes"
    NO_EXAMPLE = "no_example"
    LATER = "later"
    NO_DELAY = "no_delay"


class StepsNeeded(StrEnum):
    """How often the page must be looked at to finish a task."""

    ONE = "one"
    MANY = "many"


EXCLUDED: Mapping[Exclusion, tuple[str, ...]] = {
    Exclusion.DEBUG: (
        "choose-date-easy",
        "choose-date-medium",
        "click-tab-2-easy",
        "click-tab-2-medium",
        "click-test-transfer",
        "email-inbox-delete",
        "email-inbox-forward",
        "email-inbox-important",
        "email-inbox-noscroll",
        "email-inbox-reply",
        "email-inbox-star-reply",
    ),
    Exclusion.REACTION: ("chase-circle", "moving-items", "simon-says"),
    Exclusion.DRIVER: (
        "choose-list",
        "click-scroll-list",
        "highlight-text",
        "highlight-text-2",
        "text-editor",
    ),
    Exclusion.UNCLEAR: ("click-menu-2", "use-colorwheel-2"),
    Exclusion.BOXES: (
        "grid-coordinate",
        "guess-number",
        "use-slider",
        "use-slider-2",
        "use-spinner",
    ),
    Exclusion.NO_EXAMPLE: ("book-flight", "drag-cube", "drag-sort-numbers", "number-checkboxes"),
}
"""The 30 tasks that the source leaves out of its 104, as it says itself."""

OUTSIDE: Mapping[Exclusion, tuple[str, ...]] = {
    Exclusion.LATER: (
        "ascending-numbers",
        "buy-ticket",
        "daily-calendar",
        "drag-circle",
        "drag-shapes-2",
        "drag-single-shape",
        "draw-circle",
        "draw-line",
        "find-greatest",
        "form-sequence",
        "form-sequence-2",
        "form-sequence-3",
        "generate-number",
        "odd-or-even",
        "order-food",
        "phone-book",
        "sign-agreement",
        "stock-market",
    ),
    Exclusion.NO_DELAY: (
        "book-flight-nodelay",
        "choose-date-nodelay",
        "click-collapsible-2-nodelay",
        "click-collapsible-nodelay",
        "click-pie-nodelay",
        "use-autocomplete-nodelay",
    ),
}
"""Tasks of the package that are not among those 104."""

MANY_STEP = (
    "choose-date",
    "click-collapsible",
    "click-collapsible-2",
    "click-menu",
    "click-pie",
    "click-tab-2",
    "click-tab-2-hard",
    "email-inbox",
    "email-inbox-forward-nl",
    "email-inbox-forward-nl-turk",
    "email-inbox-nl-turk",
    "hot-cold",
    "login-user-popup",
    "navigate-tree",
    "scroll-text",
    "search-engine",
    "social-media",
    "social-media-all",
    "social-media-some",
    "terminal",
    "tic-tac-toe",
    "use-autocomplete",
    "use-colorwheel",
)
"""Tasks in which something that matters shows only after an action."""

ONE_STEP = (
    "bisect-angle",
    "circle-center",
    "click-button",
    "click-button-sequence",
    "click-checkboxes",
    "click-checkboxes-large",
    "click-checkboxes-soft",
    "click-checkboxes-transfer",
    "click-color",
    "click-dialog",
    "click-dialog-2",
    "click-link",
    "click-option",
    "click-shades",
    "click-shape",
    "click-tab",
    "click-test",
    "click-test-2",
    "click-widget",
    "copy-paste",
    "copy-paste-2",
    "count-shape",
    "count-sides",
    "drag-box",
    "drag-items",
    "drag-items-grid",
    "drag-shapes",
    "enter-date",
    "enter-password",
    "enter-text",
    "enter-text-2",
    "enter-text-dynamic",
    "enter-time",
    "find-midpoint",
    "find-word",
    "focus-text",
    "focus-text-2",
    "identify-shape",
    "login-user",
    "multi-layouts",
    "multi-orderings",
    "read-table",
    "read-table-2",
    "resize-textarea",
    "right-angle",
    "scroll-text-2",
    "simple-algebra",
    "simple-arithmetic",
    "text-transform",
    "unicode-test",
    "visual-addition",
)
"""Tasks of which the first screenshot alone tells every action."""

GROUPS = {"one-step": ONE_STEP, "many-step": MANY_STEP, "all": (*ONE_STEP, *MANY_STEP)}
"""What a command may name instead of single tasks."""
_REASONS = {
    name: why for group in (EXCLUDED, OUTSIDE) for why, names in group.items() for name in names
}
_STEPS = dict.fromkeys(ONE_STEP, StepsNeeded.ONE) | dict.fromkeys(MANY_STEP, StepsNeeded.MANY)


class UnknownSuiteTask(LookupError):
    """There is no such task or group; the message names it."""


def short_name(task_name: str) -> str:
    """The task's name without the suite's: "click-test"."""
    return task_name.removeprefix(f"{TASK_SET}.")


def steps_of(task_name: str) -> StepsNeeded | None:
    """Whether the task takes one look or several; None for those that are left out."""
    return _STEPS.get(short_name(task_name))


def exclusion_of(task_name: str) -> Exclusion | None:
    """Why the task is left out by default; None where it counts."""
    return _REASONS.get(short_name(task_name))


def suite_tasks(
    wanted: Iterable[str], there: Iterable[str], *, with_excluded: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tasks to run and those left out, each once and by their whole names.

    Args:
        wanted: names of tasks or of `GROUPS`, with or without the suite's name before them.
        there: the tasks that the package has.
        with_excluded: run what is left out by default too, as far as the package has it.

    Raises:
        UnknownSuiteTask: there is none of such a name.
    """
    has = set(map(short_name, there))
    known = has | set(_STEPS) | set(_REASONS)
    names: dict[str, None] = {}
    for each in wanted:
        name = short_name(each.strip())
        if name not in known and name not in GROUPS:
            raise UnknownSuiteTask(f"MiniWoB++ has no task and no group of tasks {name!r}.")
        names |= dict.fromkeys(GROUPS.get(name, (name,)))
        if name == "all":
            names |= dict.fromkeys(name for group in EXCLUDED.values() for name in group)
    run = [name for name in names if name in has and (with_excluded or name not in _REASONS)]
    left = [name for name in names if name not in run]
    return tuple(map(_whole, run)), tuple(map(_whole, left))


def _whole(name: str) -> str:
    return f"{TASK_SET}.{name}"
