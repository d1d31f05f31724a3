"""Protocols that a new study can start from: what its form is filled in with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

TYPES_OF_FAILURE = _(
    "wrong or missing filter\n"
    "a step left out\n"
    "wrong item or page\n"
    "claims what no picture shows\n"
    "right thing, wrong form\n"
    "repeated actions\n"
    "stopped too early\n"
    "blocked by the site"
)
LIVE_WEB_GUIDELINES = _(
    "**Before you look at the run**\n\n"
    "1. Do the task yourself on the live site, and note how many steps it took you.\n"
    "2. Write down the task's key points: every condition that the result must meet.\n\n"
    "**While you look**\n\n"
    "- Check each key point against the actions *and* the pictures. What the agent says counts for"
    " nothing: if no picture shows it, it has not happened.\n"
    "- Every condition must be met; a filter that was not set is a failure even if the result"
    " happens to be right.\n\n"
    "**Your label**\n\n"
    "- *Success* (1): all key points are met.\n"
    "- *Failure* (0): at least one is not. Give the step at which it went wrong, the type of"
    " failure, and your reasoning.\n"
    "- *Not executable* (2): nobody can do the task any more, because the site or its content has"
    " changed. Say what you found; the reviewer reports such tasks.\n\n"
    "Work alone. The reviewer settles what you disagree on, and looks into runs on which you agree."
)


@dataclass(frozen=True, slots=True)
class Preset:
    """A protocol by its key, with the values that the form of a new study begins with."""

    key: str
    name: str | Promise
    initial: Mapping[str, Any] = field(default_factory=dict)


PRESETS = (
    Preset("", _("Two annotators")),
    Preset(
        "online_mind2web",
        _("Online-Mind2Web"),
        {
            "labels_per_run": 3,
            "hides_identity": True,
            "asks_failure_details": True,
            "causes": TYPES_OF_FAILURE,
            "guidelines": LIVE_WEB_GUIDELINES,
        },
    ),
)


def preset(key: str | None) -> Preset:
    """The protocol of that key; the first one if there is none."""
    return next((each for each in PRESETS if each.key == key), PRESETS[0])
