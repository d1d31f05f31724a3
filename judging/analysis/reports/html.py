"""A report as HTML tables: which columns and rows a page shows, and where each figure leads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.functional import Promise
from django.utils.text import capfirst

from judging.analysis.reports.report import Cell, Column, Report
from judging.analysis.reports.showing import DASH
from judging.statistics.figures import Share


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlCell:
    """One cell: its words, notes below them, and the address of the runs behind it."""

    text: str
    notes: Sequence[str] = ()
    url: str = ""
    is_text: bool = False
    is_head: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlTable:
    """One table; `left_out` rows are in the files alone; a click opens what is `folded`."""

    caption: str
    headings: Sequence[HtmlCell]
    rows: Sequence[Sequence[HtmlCell]]
    references: Sequence[Sequence[HtmlCell]] = ()
    left_out: int = 0
    folded: bool = False


Row = Sequence[Any]
_NOTHING = object()
"""What stands where a pivoted report has no row."""


def html_tables(report: Report) -> list[HtmlTable]:
    """The tables of a page: one, or one for each value of the column that splits the report."""
    split = report.layout.split
    rows = report.rows if report.page_rows is None else report.page_rows
    if not split:
        return [_table(report, report.columns, rows, str(report.layout.caption))]
    place = _place(report.columns, split)
    columns = _without(report.columns, place)
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(_value(row[place]), []).append(_without(row, place))
    show = report.columns[place].show
    return [_table(report, columns, rows, show(key).text) for key, rows in groups.items()]


def _table(
    report: Report, columns: Sequence[Column], rows: Sequence[Row], caption: str
) -> HtmlTable:
    if report.layout.pivot:
        columns, rows = _pivoted(columns, rows, report.layout.pivot)
    most = report.layout.most or len(rows)
    shown = [place for place, column in enumerate(columns) if column.name]
    return HtmlTable(
        caption=caption,
        headings=[HtmlCell(text=_heading(columns[n]), is_text=columns[n].is_text) for n in shown],
        rows=[_row(columns, row, shown) for row in rows[:most]],
        references=[_reference(columns, row, shown) for row in report.references],
        left_out=max(0, len(rows) - most),
        folded=report.layout.folded,
    )


def _heading(column: Column) -> str:
    """With a capital, unless data name the column (a configuration, a person) or a symbol does."""
    words = str(column.name)
    is_symbol = len(words.partition(" ")[0]) == 1
    return capfirst(words) if isinstance(column.name, Promise) and not is_symbol else words


def _row(columns: Sequence[Column], row: Row, shown: Sequence[int]) -> list[HtmlCell]:
    return [_cell(columns[n], row[n], is_head=n == shown[0]) for n in shown]


def _reference(columns: Sequence[Column], row: Row, shown: Sequence[int]) -> list[HtmlCell]:
    """A published row; what was not published is left empty."""
    cells = _row(columns, row, shown)
    return [
        HtmlCell(text="") if row[n] is None else cell for n, cell in zip(shown, cells, strict=True)
    ]


def _cell(column: Column, given: Any, *, is_head: bool) -> HtmlCell:
    if given is _NOTHING:
        return HtmlCell(text=DASH)
    cell = given if isinstance(given, Cell) else Cell(given)
    text, note = column.show(cell.value)
    has_runs = cell.value.total if isinstance(cell.value, Share) else cell.value
    return HtmlCell(
        text=text,
        notes=[each for each in (note, cell.note) if each],
        url=cell.url if has_runs else "",
        is_text=column.is_text,
        is_head=is_head,
    )


def _pivoted(
    columns: Sequence[Column], rows: Sequence[Row], key: str
) -> tuple[list[Column], list[Row]]:
    """Rows whose texts are the same as one, their figures beside each other by the pivot."""
    place = _place(columns, key)
    is_head = [column.is_text or column.per_row for column in columns]
    heads = [n for n, column in enumerate(columns) if is_head[n] and column.name and n != place]
    figures = [n for n, column in enumerate(columns) if not is_head[n] and column.name]
    across = list(dict.fromkeys(_value(row[place]) for row in rows))
    found: dict[Row, dict[Any, Row]] = {}
    for row in rows:
        head = tuple(_value(row[n]) for n in heads)
        found.setdefault(head, {})[_value(row[place])] = row
    names = {value: columns[place].show(value).text for value in across}
    return [
        *(columns[n] for n in heads),
        *(_named(columns[n], names[value], n == figures[0]) for value in across for n in figures),
    ], [
        [
            *(next(iter(by.values()))[n] for n in heads),
            *(by[value][n] if value in by else _NOTHING for value in across for n in figures),
        ]
        for by in found.values()
    ]


def _named(column: Column, name: str, is_first: bool) -> Column:
    """The column under the name of the pivot: its first figure needs no name of its own."""
    return replace(column, name=name) if is_first else column


def _place(columns: Sequence[Column], key: str) -> int:
    return next(n for n, column in enumerate(columns) if column.key == key)


def _without(row: Sequence[Any], place: int) -> list[Any]:
    return [*row[:place], *row[place + 1 :]]


def _value(cell: Any) -> Any:
    return cell.value if isinstance(cell, Cell) else cell
