"""What the source printed, to be set beside figures of our own runs. Nothing here is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

NOTE = _(
    "Published figures are as printed in the source (seeds 0-49, with gpt-4 0-19; success is a "
    "reward above 0). Its prompts, models and detector are others: a reference, no comparison."
)


@dataclass(frozen=True, slots=True)
class PublishedRate:
    """Mean of the tasks' success rates, over so many tasks."""

    name: str
    sees: Promise
    rate: float
    tasks: int


@dataclass(frozen=True, slots=True)
class PublishedSteps:
    """Success rates by steps, and the mean number of steps of successes in many-step tasks."""

    name: str
    one: float
    many: float
    mean_steps: float


@dataclass(frozen=True, slots=True)
class PublishedCauses:
    """Of 100 failures drawn at random."""

    name: str
    vision: int
    reasoning: int
    other: int


_SCREENSHOTS, _HTML = _("screenshots as text"), _("HTML")
RATES: Sequence[PublishedRate] = (
    PublishedRate("gpt-3.5-turbo", _SCREENSHOTS, 0.874, 60),
    PublishedRate("gpt-3.5-turbo-16k", _SCREENSHOTS, 0.824, 74),
    PublishedRate("gpt-4", _SCREENSHOTS, 0.907, 74),
    PublishedRate("RCI (gpt-3.5-turbo)", _HTML, 0.906, 54),
    PublishedRate("RCI (gpt-4)", _HTML, 0.940, 54),
    PublishedRate("AdaPlanner", _HTML, 0.929, 53),
    PublishedRate("Synapse", _HTML, 0.992, 64),
)
STEPS: Sequence[PublishedSteps] = (
    PublishedSteps("gpt-3.5-turbo-16k", 0.867, 0.723, 3.024),
    PublishedSteps("gpt-4", 0.913, 0.893, 3.089),
)
CAUSES: Sequence[PublishedCauses] = (
    PublishedCauses("gpt-3.5-turbo-16k", 21, 70, 9),
    PublishedCauses("gpt-4", 42, 49, 9),
)
