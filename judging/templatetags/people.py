"""How people's work reads on a page."""

from django import template
from django.utils.translation import ngettext

register = template.Library()


@register.filter
def about(seconds: float) -> str:
    """A rough time: 7 min, 40 min (in fives from 20 on), 2 h, 3 h."""
    minutes = round(seconds / 60)
    if minutes >= 90:
        hours = round(minutes / 60)
        return ngettext("%(n)d h", "%(n)d h", hours) % {"n": hours}
    if minutes > 20:
        minutes = 5 * round(minutes / 5)
    return ngettext("%(n)d min", "%(n)d min", minutes) % {"n": minutes}
