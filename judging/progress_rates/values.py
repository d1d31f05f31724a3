"""Figures as values of tables to take away: numbers, empty where there are none."""

from __future__ import annotations

from judging.reports import Value
from judging.statistics.figures import Figure, Interval, Undefined
from judging.statistics.proportions import Share


def number(figure: Figure) -> float | None:
    """The figure, None where it is undefined."""
    return None if isinstance(figure, Undefined) else figure


def ends(interval: Interval | Undefined) -> list[Value]:
    """Lower and upper end."""
    return [interval.low, interval.high] if isinstance(interval, Interval) else [None, None]


def share_values(share: Share) -> list[Value]:
    """The share and the ends of its interval."""
    return [number(share.value), *ends(share.interval)]
