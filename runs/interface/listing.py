"""Several items in one line."""

from collections.abc import Iterable

from django.utils.translation import gettext, pgettext


def listed(items: Iterable[object]) -> str:
    """The items as the reader's language lists them."""
    return pgettext("between the items of a list", ", ").join(map(str, items))


def labelled(label: object, value: object) -> str:
    """A value behind what it is, as the reader's language writes it."""
    return gettext("%(label)s: %(value)s") % {"label": label, "value": value}
