"""Columns of reports by what stands in them: text, counts, shares, means and differences."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Protocol

from django.utils.translation import gettext_lazy as _

from judging.analysis.reports.report import Column, Field, Value, Words
from judging.analysis.reports.showing import DASH, Shown, rate_interval, show, why_undefined
from judging.statistics.figures import Figure, Interval, Share, Undefined
from judging.statistics.success import Mean

SHARE_KEYS = ("successes", "n", "value", "low", "high")


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


def text(
    key: str, name: Words, *, words: Mapping[Any, Words] | None = None, show: Any = None
) -> Column:
    """Words. `words`, or `show`, say how a page puts a value that files hold as a key."""
    known = words or {}

    def shown(value: Any) -> Shown:
        return Shown(DASH if value in (None, "") else str(known.get(value, value)))

    return Column(key, name, show=show or shown, is_text=True)


CONFIGURATION = text("configuration", _("configuration"))


def plain(key: str, name: Words, path: str = "") -> Field:
    """A plain column, and what stands at that path of an item, which is its key unless given."""
    return Column(key, name), attrgetter(path or key)


def in_files(key: str) -> Column:
    """A column that pages do not show."""
    return Column(key)


def on_pages(
    name: Words, *, show: Any = show, is_text: bool = False, per_row: bool = False
) -> Column:
    """A column that files do not have: they hold its parts in columns of their own."""
    return Column("", name, parts=(), show=show, is_text=is_text, per_row=per_row)


def share(name: Words | None = None, *, keys: Sequence[str] = SHARE_KEYS) -> Column:
    """A `Share`: in files its count, total and value, and the ends of Wilson's interval."""
    shown = _("share") if name is None else name
    return Column(keys[2], shown, parts=keys, spread=counted)


def with_ends(key: str, name: Words) -> Column:
    """A share, mean or difference: in files itself, `…_low` and `…_high`."""
    return parted([f"{key}{end}" for end in ("", "_low", "_high")], name)


def parted(
    parts: Sequence[str], name: Words, *, spread: Any = value_and_ends, show: Any = show
) -> Column:
    """A figure that is one column of a page and several of a file, by their keys."""
    return Column(parts[0], name, parts=parts, spread=spread, show=show)


def figure(key: str, name: Words, *, show: Any = show) -> Column:
    """A number that there may be none of; in files it is empty then."""
    return Column(key, name, spread=lambda value: (number(value),), show=show)


def number(figure: Figure | None) -> float | None:
    """The figure; None where there is none."""
    return None if figure is None or isinstance(figure, Undefined) else float(figure)


def ends(interval: Interval | Undefined | None) -> list[Value]:
    """Its lower and its upper end."""
    return [interval.low, interval.high] if isinstance(interval, Interval) else [None, None]


def why(figure: Figure | None) -> str | None:
    """Why there is no figure."""
    return why_undefined(figure) if isinstance(figure, Undefined) else None


def figure_values(found: Estimate) -> list[Value]:
    """The figure, the ends of its interval, and how that was found."""
    interval = found.interval
    method = interval.method if isinstance(interval, Interval) else None
    return [number(found.value), *ends(interval), method]


def counted(share: Share) -> list[Value]:
    """Count, total, the share, and the ends of its interval."""
    return [share.count, share.total, *value_and_ends(share)]
