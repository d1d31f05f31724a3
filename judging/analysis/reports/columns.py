"""Columns of reports by what stands in them: text, counts, shares, means and differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from django.utils.translation import gettext_lazy as _

from judging.analysis.reports.report import Column, FileColumn, Value, Words
from judging.analysis.reports.showing import Shown, rate_interval, show
from judging.analysis.wording import DASH, why_undefined
from judging.statistics.figures import Figure, Interval, Share, Undefined
from judging.statistics.success import Mean

LOW, HIGH = _("lower end, 95 %, Wilson"), _("upper end, 95 %, Wilson")
SHARE_NAMES = (_("successes"), _("n, runs with a verdict"), _("share"), LOW, HIGH)


class Estimate(Protocol):
    """A figure with its interval: a share, a difference, a score."""

    @property
    def value(self) -> Figure: ...

    @property
    def interval(self) -> Interval | Undefined | None: ...


def value_and_ends(found: Estimate | Mean) -> list[Value]:
    """The figure and the ends of its interval."""
    interval = rate_interval(found) if isinstance(found, Mean) else found.interval
    return [number(found.value), *ends(interval)]


def text(key: str, name: Words, heading: Words | None = None, *, show: Any = None) -> Column:
    """Words. `show` says how a page puts a value that files hold as a key."""
    shown = show or (lambda value: Shown(DASH if value in (None, "") else str(value)))
    return Column(key, name, heading, show=shown, is_text=True)


CONFIGURATION = text("configuration", _("configuration"))


def in_files(key: str, name: Words) -> Column:
    """A column that pages do not show."""
    return Column(key, name, "")


def on_pages(
    heading: Words, *, show: Any = show, is_text: bool = False, per_row: bool = False
) -> Column:
    """A column that files do not have: they hold its parts in columns of their own."""
    return Column("", heading, parts=(), show=show, is_text=is_text, per_row=per_row)


def share(
    heading: Words | None = None,
    *,
    keys: Sequence[str] = ("successes", "n", "value", "low", "high"),
    names: Sequence[Words] = SHARE_NAMES,
) -> Column:
    """A `Share`: in files its count, total and value, and the ends of Wilson's interval."""
    parts = [FileColumn(key, name) for key, name in zip(keys, names, strict=True)]
    return Column("share", names[2], heading, parts=parts, spread=counted)


def with_ends(key: str, name: Words, heading: Words | None = None, *, show: Any = show) -> Column:
    """A share, mean or difference: in files itself, `…_low` and `…_high`."""
    parts = [FileColumn(f"{key}{end}", name) for end in ("", "_low", "_high")]
    return Column(key, name, heading, parts=parts, spread=value_and_ends, show=show)


def parted(
    parts: Sequence[tuple[str, Words]],
    heading: Words | None = None,
    *,
    spread: Any = value_and_ends,
    show: Any = show,
) -> Column:
    """A figure that is one column of a page and several of a file: their keys and names."""
    columns = [FileColumn(*each) for each in parts]
    return Column(*columns[0], heading, parts=columns, spread=spread, show=show)


def figure(key: str, name: Words, heading: Words | None = None, *, show: Any = show) -> Column:
    """A number that there may be none of; in files it is empty then."""
    return Column(key, name, heading, spread=lambda value: (number(value),), show=show)


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


def figure_values(found: Estimate) -> list[Value]:
    """The figure, the ends of its interval, and how that was found."""
    return [number(found.value), *ends(found.interval), method(found.interval)]


def counted(share: Share) -> list[Value]:
    """Count, total, the share, and the ends of its interval."""
    return [share.count, share.total, *value_and_ends(share)]
