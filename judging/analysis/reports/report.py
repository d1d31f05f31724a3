"""A report: figures in columns and rows, with what must be known to read them.

A function makes it from facts, with columns by what stands in them: text, counts, shares, means,
differences. `writing` writes it as a file, `registry` shows it on a page. A column of a page may be
several in a file: a share is `count`, `n`, `value`, `low` and `high` there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.analysis.reports.showing import DASH, Shown, rate_interval, show, why_undefined
from judging.statistics.figures import Figure, Interval, Share, Undefined
from judging.statistics.success import Mean

Value = str | int | float | None
Words = str | Promise


class Cell(NamedTuple):
    """A figure with the address of the runs behind it and what stands below it on a page."""

    value: Any
    url: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `key` names it to programs, `name` to people; without a name it is for files alone.

    `parts` are the keys of its columns in a file (none for a column of pages alone) and `spread`
    gives their values; `show` says how a page shows a value.
    """

    key: str
    name: Words = ""
    parts: Sequence[str] | None = None
    spread: Callable[[Any], Sequence[Value]] = lambda value: (value,)
    show: Callable[[Any], Shown] = show
    is_text: bool = False
    per_row: bool = False
    """Whether it says the same whatever is pivoted."""

    @property
    def in_files(self) -> Sequence[Column]:
        """Its columns in a file. What pages do not show is called by its key."""
        keys = (self.key,) if self.parts is None else self.parts
        words = {self.key: self.name} if self.name else {}
        return [Column(key, words.get(key, key.replace("_", " "))) for key in keys]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a page sets a report out.

    `split`: key of the column whose values have a table each, which that column heads; `pivot`:
    key of the column whose values stand beside each other. Only the first `most` rows of each
    table are shown, where that is more than 0; `caption` stands above them; `folded` tables are
    opened by a click.
    """

    split: str = ""
    pivot: str = ""
    most: int = 0
    caption: Words = ""
    folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A table with a title; what a registry makes has its `name`, `title` and first notes.

    `notes` go into files; `remarks` explain a page's table. `references` are published rows, which
    pages show below the others. `empty` stands in the place of a table without rows.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    name: str = ""
    title: str = ""
    notes: Sequence[str] = ()
    counts: Sequence[str] | None = None
    """What is counted, in place of the notes of the facts."""
    page_rows: Sequence[Sequence[Any]] | None = None
    """What a page shows in place of the rows."""
    remarks: Sequence[Words] = ()
    references: Sequence[Sequence[Any]] = ()
    empty: Words = ""
    layout: Layout = Layout()

    @property
    def header(self) -> list[Column]:
        """The columns of a file."""
        return [each for column in self.columns for each in column.in_files]

    @property
    def values(self) -> list[list[Value]]:
        """The rows of a file."""
        return [
            [
                value
                for column, cell in zip(self.columns, row, strict=True)
                if column.parts is None or column.parts
                for value in column.spread(cell.value if isinstance(cell, Cell) else cell)
            ]
            for row in self.rows
        ]


Field = tuple[Column, Callable[[Any], Any]]
"""A column, and what stands in it for one of the things that a report has a row for."""


def report_of(items: Iterable[Any], fields: Sequence[Field], **more: Any) -> Report:
    """The report with a row an item; `more` is what else a report has."""
    columns = [column for column, _value_of in fields]
    return Report(columns=columns, rows=rows_of(items, fields), **more)


def rows_of(items: Iterable[Any], fields: Sequence[Field]) -> list[list[Any]]:
    """The rows of these items, as for what a page shows in place of all of them."""
    return [[value_of(item) for _column, value_of in fields] for item in items]


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
