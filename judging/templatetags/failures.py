"""How failure modes read on a page."""

from django import template
from django.utils.functional import Promise

from judging.analysis.failure_modes.words import NAMES, SIDES
from webagent.recovery.failure_kinds import Mode, Side

register = template.Library()


@register.filter
def mode_name(mode: Mode) -> Promise:
    """A mode's name."""
    return NAMES[mode]


@register.filter
def side_name(side: Side) -> Promise:
    """Operation or reasoning, in words."""
    return SIDES[side]
