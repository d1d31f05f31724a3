"""Figures as pages show them: a number in words, and below it what it is of and its interval."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

from django.utils import formats
from django.utils.translation import gettext

from judging.analysis.wording import (
    DASH,
    figure_words,
    interval_words,
    points_words,
    range_words,
    why_undefined,
)
from judging.models import EvaluatorVersion
from judging.statistics.comparison import Difference
from judging.statistics.figures import Figure, Interval, Share, Undefined
from judging.statistics.success import Mean, mean_interval


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
    if isinstance(found.value, Undefined):
        return show(found.value)
    return Shown(points_words(found.value), point_ends(found.interval))


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
