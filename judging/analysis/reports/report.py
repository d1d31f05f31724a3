"""A report: figures in columns and rows, with what must be known to read them.

A function makes it from facts; `writing` writes it as a file and `html` shows it on a page. A
column of a page may be several in a file: a share is `count`, `n`, `value`, `low` and `high` there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils.functional import Promise

from judging.analysis.reports.showing import Shown, show

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
