"""How values read: durations, money, moments, verdicts, cells of tables. A template library."""

import unicodedata
from datetime import datetime, timedelta, tzinfo
from decimal import Decimal
from functools import lru_cache
from typing import Any

from django import template
from django.conf import settings
from django.template.defaultfilters import stringfilter
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import get_language, gettext_lazy, ngettext, pgettext_lazy
from django.utils.translation import gettext as _

from runs.interface.sentences import details_worded, listed, worded
from runs.models import Run
from runs.models.hooks import LinkedPage, address_above, is_offered

register = template.Library()

NO_TRAJECTORY = gettext_lazy("no trajectory")

VERDICTS = {
    "success": gettext_lazy("success"),
    "failure": gettext_lazy("failure"),
    "error": gettext_lazy("error"),
    "incomplete": gettext_lazy("incomplete"),
    "not_executable": gettext_lazy("not executable"),
    "unknown": gettext_lazy("unknown"),
    "unsure": gettext_lazy("unsure"),
    "passed": gettext_lazy("passed"),
    "failed": pgettext_lazy("a verdict", "failed"),
    "not_applicable": gettext_lazy("not applicable"),
    "disputed": gettext_lazy("disputed"),
}

CELLS = {
    "tp": gettext_lazy("true positive: reference success, passed"),
    "fn": gettext_lazy("false negative: reference success, not passed"),
    "tn": gettext_lazy("true negative: reference failure, not passed"),
    "fp": gettext_lazy("false positive: reference failure, passed"),
    "none": gettext_lazy("no verdict from the evaluator"),
}

register.filter("listed", listed)
register.filter("worded", stringfilter(worded))
register.filter("details_worded", stringfilter(details_worded))


@register.filter
def counted(what: object, n: int) -> str:
    """How many of what: 23 task data."""
    return _("%(n)s %(what)s") % {"n": formats.number_format(n), "what": what}


@register.filter
def duration(seconds: Any) -> str:
    """Seconds in words: 0.8 s, 12 s, 3 min 20 s, 2 h 5 min; a dash for all that is no number."""
    if not isinstance(seconds, int | float):
        return "—"
    is_short = seconds < 10
    tenths_or_whole = round(seconds, 1 if is_short else None)
    return _duration(tenths_or_whole, is_short=is_short, _language=get_language())


@lru_cache(maxsize=10_000)
def _duration(seconds: float, *, is_short: bool, _language: str | None) -> str:
    """Lists say the same few thousand again and again."""
    if is_short:
        return _("%(n)s s") % {"n": formats.number_format(seconds, 1)}
    if seconds < 60:
        return _("%(n)s s") % {"n": seconds}
    minutes, rest = divmod(seconds, 60)
    if minutes < 60:
        text = _("%(m)s min %(s)s s") if rest else _("%(m)s min")
        return text % {"m": minutes, "s": rest}
    hours, minutes = divmod(minutes, 60)
    text = _("%(h)s h %(m)s min") if minutes else _("%(h)s h")
    return text % {"h": hours, "m": minutes}


@register.filter
def time_left(seconds: Any) -> str:
    """How much is left, roughly: 7 min, 40 min (in fives from 20 on), 2 h, 3 h."""
    minutes = round(float(seconds) / 60)  # an exact number may have thousands of digits
    minutes = max(minutes, 1)
    if minutes > 20:
        minutes = 5 * round(minutes / 5)
    is_long = minutes >= 90
    time = _("%(h)s h") % {"h": round(minutes / 60)} if is_long else _("%(m)s min") % {"m": minutes}
    return _("about %(time)s left") % {"time": time}


@register.filter
def in_percent(share: Any) -> str:
    """A share in [0, 1] as 12.5 %; a dash for all that is no number."""
    if not isinstance(share, int | float):
        return "—"
    return _("%(n)s %%") % {"n": formats.number_format(round(100 * share, 1), 1)}


@register.filter
def money(amount: Decimal | float | None) -> str:
    """An amount in US dollars with as many digits as it needs; a dash for unknown."""
    return "—" if amount is None else _money(amount, get_language())


@lru_cache(maxsize=10_000)
def _money(amount: Decimal | float, _language: str | None) -> str:
    exact = Decimal(str(amount))
    digits = 2 if not exact or abs(exact) >= 1 else 4
    return f"${formats.number_format(round(exact, digits), digits)}"


@register.filter
def moment(at: datetime | None) -> str | SafeString:
    """Date and time in the reader's format, with the zone on hover; a dash for unknown."""
    return "—" if at is None else _moment(at, timezone.get_current_timezone(), get_language())


@lru_cache(maxsize=10_000)
def _moment(at: datetime, zone: tzinfo, language: str | None) -> SafeString:
    """A list shows the same fifty again and again."""
    local = timezone.localtime(at, zone)
    short = formats.date_format(local, "SHORT_DATETIME_FORMAT")
    return format_html(
        '<time datetime="{}" title="{} {}">{}</time>', at.isoformat(), short, local.tzname(), short
    )


@register.filter
def age(at: datetime) -> SafeString:
    """How long ago in the largest unit from hours on, as 3 days; the moment on hover."""
    local = timezone.localtime(at)
    title = f"{formats.date_format(local, 'SHORT_DATETIME_FORMAT')} {local.tzname()}"
    is_new = timezone.now() - at < timedelta(hours=1)
    ago = _("less than an hour") if is_new else timesince(at, depth=1)
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(), title, ago)


@register.filter
def steps(count: int) -> str:
    """A number of steps in words."""
    return ngettext("%(n)s step", "%(n)s steps", count) % {"n": formats.number_format(count)}


@register.simple_tag
def verdict(value: str | None) -> SafeString:
    """An outcome or verdict with its mark; "hidden" for None, a dash for ""."""
    if value is None:
        return format_html(
            '<span class="verdict hidden" title="{}">{}</span>',
            _("Hidden until this run is settled"),
            _("hidden"),
        )
    return format_html('<span class="verdict {}">{}</span>', value, VERDICTS.get(value, value))


_NO_MARK = format_html("{}", "")


@register.filter
def stub_mark(run: Run) -> SafeString:
    """What marks a run without trajectory wherever runs are listed; empty for all others."""
    if not run.is_stub:
        return _NO_MARK
    title = _("Only labels and verdicts of this run are here.")
    return format_html(' <span class="badge stub" title="{}">{}</span>', title, NO_TRAJECTORY)


@register.simple_tag
def cell(name: str) -> SafeString:
    """One of the cells tp, fn, tn, fp, none as a badge."""
    return _cell(name, get_language())


@lru_cache(maxsize=100)
def _cell(name: str, language: str | None) -> SafeString:
    word = "—" if name == "none" else name.upper()
    return format_html('<abbr class="cell {}" title="{}">{}</abbr>', name, CELLS[name], word)


@register.simple_tag
def extension_url(page: str, *args: object) -> str:
    """The address of a `LinkedPage`, such as `{% extension_url 'hint_report' experiment.pk %}`."""
    return address_above(LinkedPage(page), *args)


@register.simple_tag(takes_context=True)
def offered_url(context: template.Context, page: str, *args: object) -> str:
    """The same for whoever has the permissions that the page takes; empty for others."""
    return extension_url(page, *args) if is_offered(context["user"], LinkedPage(page)) else ""


@register.simple_tag(takes_context=True)
def lacks_runs(context: template.Context) -> bool:
    """Whether there are no runs at all; False for somebody who may not know."""
    return context["user"].has_perm("runs.view_run") and not Run.objects.exists()


@register.simple_tag
def allows_demo() -> bool:
    """Whether this installation offers the demo."""
    return settings.ALLOWS_DEMO


FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a spreadsheet may take for the beginning of a formula."""


def escape_formula(text: str) -> str:
    """The text as a cell that no spreadsheet takes for a formula.

    Also where it begins with blanks, with signs that are not seen, or with full-width forms,
    which some spreadsheets read as the plain ones.
    """
    if text[:1].isalnum() and text[:1].isascii():
        return text  # as most cells of large tables begin
    # A leading apostrophe makes spreadsheets take the cell as text.
    return f"'{text}" if _beginning(text) in FORMULA_SIGNS else text


def _beginning(text: str) -> str:
    for sign in text:
        if sign in FORMULA_SIGNS:
            return sign
        if sign.isspace() or unicodedata.category(sign) in ("Cf", "Cc"):
            continue
        return unicodedata.normalize("NFKC", sign)[:1]
    return ""
