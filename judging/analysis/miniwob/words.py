"""The suite's words for people."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.analysis.miniwob.figures import Rule
from webagent.environment.miniwob_suite import Exclusion, Steps

RULES: Mapping[Rule, Promise] = {
    Rule.POSITIVE: _("reward above 0"),
    Rule.BINARY: _("reward 1"),
}
STEPS: Mapping[Steps, Promise] = {
    Steps.ONE: _("one step"),
    Steps.MANY: _("many steps"),
}
UNDECIDED = _("in the agent's own error")
UNREWARDED = _("without a reward")
EXCLUSIONS: Mapping[Exclusion, Promise] = {
    Exclusion.DEBUG: _("made for debugging; earlier work leaves it out too"),
    Exclusion.REACTION: _("must be reacted to at once"),
    Exclusion.DRIVER: _("takes an action that the source's browser driver could not do"),
    Exclusion.UNCLEAR: _("its instruction in words is unclear"),
    Exclusion.BOXES: _("cannot be told from boxes where to act"),
    Exclusion.NO_EXAMPLE: _("no worked example could be made"),
    Exclusion.LATER: _("a later task, not among the 104 that the source chose from"),
    Exclusion.NO_DELAY: _("a variant without delay, not among the 104 that the source chose from"),
}


def steps_words(steps: Steps | None) -> Promise:
    """Whether a task takes one look or several, or is left out."""
    return STEPS[steps] if steps else _("left out")
