"""Figures in words, why there is none, and how a page shows them: a number and what is below it."""

from collections.abc import Callable, Mapping
from functools import lru_cache, singledispatch
from typing import Any, NamedTuple

from django.utils import formats
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext, gettext_lazy

from judging.models import EvaluatorVersion
from judging.statistics.comparison import Difference
from judging.statistics.figures import Figure, Interval, Reason, Share, Undefined
from judging.statistics.success import Mean, mean_interval

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
    Reason.NOBODY_LOOKED: gettext_lazy("nobody who could find it has looked"),
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
    return gettext("%(n)s %%") % {"n": _tenths(value, language)}


def interval_words(interval: Interval | Undefined | None, *, is_share: bool) -> str:
    """`13.6–31.9` for shares (in percent), `0.12 to 0.88` for coefficients; empty for none."""
    if interval is None or isinstance(interval, Undefined):
        return ""
    if interval.low == interval.high:
        return gettext("no spread")
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
    return gettext("%(low)s to %(high)s") % {"low": low, "high": high}


def points_words(value: float) -> str:
    """`+5.1` or `−8.0`: a difference of shares in percentage points."""
    rounded = round(100 * value, 1) or 0.0  # no "-0.0"
    sign = "+" if rounded > 0 else ""
    return f"{sign}{formats.number_format(rounded, 1)}".replace("-", "−")


def p_words(p: float | None) -> str:
    """A p-value as papers write it, or that there is nothing to test."""
    if p is None:
        return gettext("no pairs differ")
    if p < 0.001:
        return f"< {formats.number_format(0.001, 3)}"
    return formats.number_format(round(p, 3), 3)


def _signed(value: float) -> str:
    rounded = round(value, 2) or 0.0  # no "-0.00"
    return formats.number_format(rounded, 2).replace("-", "−")


class Shown(NamedTuple):
    """A figure in words, and what stands small below it."""

    text: str
    note: str = ""


@singledispatch
def show(value: Any) -> Shown:
    """The words of a figure; a dash with the reason for none."""
    return Shown(DASH if value is None else str(value))


@show.register
def _(value: int) -> Shown:
    return Shown(formats.number_format(value))


@show.register
def _(value: float) -> Shown:
    """A bare rate in percent."""
    return Shown(percent(value))


@show.register
def _(value: Undefined) -> Shown:
    return Shown(DASH, why_undefined(value))


@show.register
def _(version: EvaluatorVersion) -> Shown:
    """Its name, below it its version and how it differs from others of that name."""
    named = gettext("version %(n)s") % {"n": version.full_version}
    return Shown(version.title, named if version.full_version else "")


@show.register
def _(share: Share) -> Shown:
    """`63.6 %`, below it `7/11 · 35.4–84.8`; a bare dash of nothing."""
    if not share.total:
        return Shown(DASH)
    counts = f"{formats.number_format(share.count)}/{formats.number_format(share.total)}"
    return Shown(percent(share.value), f"{counts} · {percent_ends(share.interval)}")


@show.register
def _(mean: Mean) -> Shown:
    """A mean of rates in [0, 1], with its interval by task."""
    return Shown(percent(mean.value), percent_ends(rate_interval(mean)))


@show.register
def _(found: Difference) -> Shown:
    """A difference of shares in percentage points."""
    return estimate(found.value, points_words, point_ends(found.interval))


def estimate(value: Figure, words: Callable[[float], str], note: str) -> Shown:
    """A figure in words, and what stands below it; a dash with the reason for none."""
    return show(value) if isinstance(value, Undefined) else Shown(words(value), note)


def rate_interval(mean: Mean) -> Interval | Undefined | None:
    """The interval of a mean rate within [0, 1]; None where there is no mean."""
    return None if isinstance(mean.value, Undefined) else mean_interval(mean, low=0.0, high=1.0)


def percent(figure: Figure | None) -> str:
    """A share of 1 in percent, a dash for none."""
    return figure_words(figure, is_share=True)


def ends_words(interval: Interval | Undefined | None, *, is_share: bool) -> str:
    """The ends of an interval, or why there is none; empty for None."""
    if isinstance(interval, Undefined):
        return why_undefined(interval)
    return interval_words(interval, is_share=is_share)


def percent_ends(interval: Interval | Undefined | None) -> str:
    """The ends of a share's interval in percent, or why there is none; empty for None."""
    return ends_words(interval, is_share=True)


def point_ends(interval: Interval | Undefined) -> str:
    """The ends of a difference's interval in percentage points, or why there is none."""
    if isinstance(interval, Undefined):
        return why_undefined(interval)
    return range_words(points_words(interval.low), points_words(interval.high))


def rate(figure: Figure | None) -> Shown:
    """A bare share in percent."""
    return Shown(percent(figure))


def decimals(digits: int) -> Any:
    """What shows a number with so many digits behind the point."""

    def shown(value: Figure | None) -> Shown:
        if value is None or isinstance(value, Undefined):
            return Shown(DASH)
        return Shown(formats.number_format(round(value, digits), digits))

    return shown
