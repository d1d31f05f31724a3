"""Figures of judgements in words: percentages, intervals, and why there is no figure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from django.utils import formats
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from judging.statistics.figures import Figure, Interval, Reason, Undefined

DASH = "—"

_REASONS: Mapping[Reason, Promise] = {
    Reason.NO_RUNS: gettext_lazy("there are no runs"),
    Reason.NO_VERDICTS: gettext_lazy("the evaluator gave no verdict"),
    Reason.NOTHING_PASSED: gettext_lazy("the evaluator passed no run"),
    Reason.NOTHING_FAILED: gettext_lazy("the evaluator failed no run"),
    Reason.NO_SUCCESSES: gettext_lazy("no run with a verdict is a success by the reference"),
    Reason.NO_FAILURES: gettext_lazy("no run with a verdict is a failure by the reference"),
    Reason.NO_POSITIVES: gettext_lazy(
        "no run is a success by the reference, and the evaluator passed none"
    ),
    Reason.NO_PAIRS: gettext_lazy("no run has two labels"),
    Reason.ONE_CLASS: gettext_lazy("only one label occurs, so agreement by chance is certain"),
    Reason.TOO_FEW_TRIALS: gettext_lazy("there are fewer trials than k"),
    Reason.TOO_FEW_RUNS: gettext_lazy("one run alone has no spread"),
    Reason.ONE_CLUSTER: gettext_lazy("one task alone has no spread between tasks"),
    Reason.NO_SPREAD: gettext_lazy("all values of one side are the same"),
    Reason.ALL_ALIKE: gettext_lazy("all are alike: no spread to tell an interval from"),
    Reason.NO_ORDER: gettext_lazy("neither of two people comes first"),
    Reason.TOO_FEW_POINTS: gettext_lazy("an interval for r takes at least four pairs"),
    Reason.WEAK_JUDGE: gettext_lazy(
        "the evaluator tells success from failure hardly better than chance"
    ),
    Reason.NOTHING_MARKED: gettext_lazy("the detector marked no run that people speak of"),
    Reason.NOTHING_SEEN: gettext_lazy("people see it in no run"),
    Reason.NOTHING_CREDITED: gettext_lazy("the judge credits this milestone to no run"),
    Reason.NOTHING_TICKED: gettext_lazy("people tick this milestone for no run"),
    Reason.NO_FAILED_RUNS: gettext_lazy("no run failed"),
    Reason.NO_KNOWN_PROGRESS: gettext_lazy("no run has a progress rate from this source"),
    Reason.NEVER_DEFINED: gettext_lazy("the figure is undefined in almost every resample"),
}


def why_undefined(undefined: Undefined) -> str:
    """The reason, in the reader's language."""
    return str(_REASONS[undefined.reason])


def figure_words(value: Figure | None, *, is_share: bool) -> str:
    """`21.3 %` for shares, `0.57` for coefficients, a dash where there is none."""
    if value is None or isinstance(value, Undefined):
        return DASH
    if is_share:
        return _percentage(round(100 * value, 1), get_language())
    return _signed(value)


@lru_cache(maxsize=10_000)
def _percentage(value: float, language: str | None) -> str:
    return _("%(n)s %%") % {"n": _tenths(value, language)}


def interval_words(interval: Interval | Undefined | None, *, is_share: bool) -> str:
    """`13.6–31.9` for shares (in percent), `0.12 to 0.88` for coefficients; empty for none."""
    if interval is None or isinstance(interval, Undefined):
        return ""
    if interval.low == interval.high:
        return _("no spread")
    if is_share:
        return f"{_percent(interval.low)}–{_percent(interval.high)}"
    return range_words(_signed(interval.low), _signed(interval.high))


def _percent(share: float) -> str:
    return _tenths(round(100 * share, 1), get_language())


@lru_cache(maxsize=10_000)
def _tenths(value: float, language: str | None) -> str:
    """A page of figures has hundreds of percentages, of which there are a thousand."""
    return formats.number_format(value, 1)


def range_words(low: str, high: str) -> str:
    """`0.12 to 0.88`: two ends in words."""
    return _("%(low)s to %(high)s") % {"low": low, "high": high}


def points_words(value: float) -> str:
    """`+5.1` or `−8.0`: a difference of shares in percentage points."""
    rounded = round(100 * value, 1) or 0.0  # no "-0.0"
    sign = "+" if rounded > 0 else ""
    return f"{sign}{formats.number_format(rounded, 1)}".replace("-", "−")


def p_words(p: float | None) -> str:
    """A p-value as papers write it, or that there is nothing to test."""
    if p is None:
        return _("no pairs differ")
    if p < 0.001:
        return f"< {formats.number_format(0.001, 3)}"
    return formats.number_format(round(p, 3), 3)


def _signed(value: float) -> str:
    rounded = round(value, 2) or 0.0  # no "-0.00"
    return formats.number_format(rounded, 2).replace("-", "−")
