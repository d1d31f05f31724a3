"""Which tasks of MiniWoB++ the detector learns from, and which it is only tested on."""

from __future__ import annotations

from webagent.environment.miniwob import task_names

# Whole families, so that no twin of theirs is learnt from; where that would leave a kind of
# element unknown (dialogs, tabs, sliders, sections), the harder one of the family. Radio buttons,
# list boxes and options are in few tasks: one of each has to be learnt from.
UNSEEN = frozenset(
    {
        "miniwob.buy-ticket",
        "miniwob.click-button-sequence",
        "miniwob.click-collapsible-2",
        "miniwob.click-collapsible-2-nodelay",
        "miniwob.click-color",
        "miniwob.click-dialog-2",
        "miniwob.click-tab-2-hard",
        "miniwob.click-widget",
        "miniwob.count-shape",
        "miniwob.daily-calendar",
        "miniwob.email-inbox-forward-nl",
        "miniwob.email-inbox-forward-nl-turk",
        "miniwob.enter-date",
        "miniwob.enter-password",
        "miniwob.form-sequence",
        "miniwob.form-sequence-2",
        "miniwob.form-sequence-3",
        "miniwob.login-user",
        "miniwob.login-user-popup",
        "miniwob.multi-layouts",
        "miniwob.multi-orderings",
        "miniwob.order-food",
        "miniwob.phone-book",
        "miniwob.search-engine",
        "miniwob.sign-agreement",
        "miniwob.stock-market",
        "miniwob.use-slider-2",
    }
)


def seen_tasks() -> tuple[str, ...]:
    """The tasks whose pictures the detector is trained on."""
    return tuple(name for name in task_names() if name not in UNSEEN)


def unseen_tasks() -> tuple[str, ...]:
    """The tasks no picture of which is trained on."""
    return tuple(sorted(UNSEEN))
