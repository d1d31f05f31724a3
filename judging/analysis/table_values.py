"""Figures as values of tables to take away: numbers, empty where there are none."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.functional import Promise

from judging.analysis.reports import Column, Value
from judging.analysis.wording import why_undefined
from judging.statistics.comparison import Difference
from judging.statistics.figures import Figure, Interval, Undefined
from judging.statistics.proportions import Share


def number(figure: Figure | None) -> float | None:
    """The figure; None where there is none."""
    return None if figure is None or isinstance(figure, Undefined) else float(figure)


def ends(interval: Interval | Undefined | None) -> list[Value]:
    """Its lower and its upper end."""
    return [interval.low, interval.high] if isinstance(interval, Interval) else [None, None]


def method(interval: Interval | Undefined | None) -> str | None:
    """How the interval was found."""
    return interval.method if isinstance(interval, Interval) else None


def why(figure: Figure | None) -> str | None:
    """Why there is no figure."""
    return why_undefined(figure) if isinstance(figure, Undefined) else None


def value_and_ends(found: Share | Difference) -> list[Value]:
    """The figure and the ends of its interval."""
    return [number(found.value), *ends(found.interval)]


def counted(share: Share) -> list[Value]:
    """Count, total, the share, and the ends of its interval."""
    return [share.count, share.total, *value_and_ends(share)]


def with_ends(figures: Iterable[tuple[str, str | Promise]]) -> list[Column]:
    """Three columns for each figure by key and name: itself, `…_low` and `…_high`."""
    return [Column(f"{key}{end}", words) for key, words in figures for end in ("", "_low", "_high")]
