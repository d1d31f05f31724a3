"""Reports by the name in their address, as tables of a page, as files, and in answer to commands.

A new report is a function from facts and an entry.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from django.core.management.base import BaseCommand, CommandError
from django.http import Http404, HttpResponse
from django.utils.functional import Promise
from django.utils.text import capfirst

from judging.analysis.reports.report import Cell, Column, Report, Words
from judging.analysis.reports.showing import DASH
from judging.analysis.reports.writing import ENDINGS, FORMATS, write
from judging.statistics.figures import Share
from runs.interface.terminal import write_files


class Facts(Protocol):
    """What reports are made of: an experiment or a study, as somebody may know it."""

    def title(self, about: str) -> str:
        """The title of a report about this."""

    @property
    def notes(self) -> list[str]:
        """What must be known to read any of its reports."""


F = TypeVar("F", bound=Facts)
Document = Callable[[str], str]
"""Reports as one text, by the ending of its file."""


class Entry(NamedTuple):
    """A report: its name for people, what makes it, and whether it has a row a run."""

    words: Words
    make: Callable[..., Report]
    lists_runs: bool = False


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


@dataclass(frozen=True)
class Registry(Generic[F]):
    """The reports on one kind of facts; `prefix` begins the names of their files."""

    entries: Mapping[str, Entry]
    prefix: str = ""

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    @property
    def names(self) -> Mapping[str, Words]:
        """What the reports are called, for a menu."""
        return {name: entry.words for name, entry in self.entries.items()}

    def make(self, name: str, facts: F, *chosen: Any) -> Report:
        """The report with its title and the notes of its facts; `chosen` is what else it takes.

        Raises KeyError where there is none of that name.
        """
        words, make, _lists_runs = self.entries[name]
        report = make(facts, *chosen)
        counts = facts.notes if report.counts is None else report.counts
        return replace(
            report,
            name=f"{self.prefix}{name}",
            title=facts.title(str(words)),
            notes=[*counts, *report.notes],
        )

    def tables(self, name: str, facts: F) -> list[HtmlTable]:
        """The report as a page shows it."""
        return html_tables(self.make(name, facts))

    def for_document(self, facts: F) -> list[Report]:
        """The reports that are no lists of runs."""
        return [
            self.make(name, facts) for name, entry in self.entries.items() if not entry.lists_runs
        ]

    def files(
        self, facts: F, ending: str, document: Document | None = None
    ) -> Iterator[tuple[Path, str]]:
        """A file for each report, and for all but CSV the document of all of them, if any."""
        for name in self.entries:
            yield Path(f"{name}.{ending}"), write(self.make(name, facts), ending)
        if document and ending != "csv":
            yield Path(f"report.{ending}"), document(ending)

    def answer(
        self,
        command: BaseCommand,
        facts: F,
        options: Mapping[str, Any],
        document: Document,
        files: Iterable[tuple[Path, str]] | None = None,
    ) -> None:
        """What a command asks for by `--format`, `--table` and `--out`: one table, the document,
        or a folder of files, which are those of all reports unless they are given.

        Raises CommandError where there is no such table, or a file cannot be written.
        """
        ending, table, out = ENDINGS[options["format"]], options["table"], options["out"]
        if table and table not in self:
            raise CommandError(f"there is no table {table}: {', '.join(self.entries)}")
        if out is not None:
            found = self.files(facts, ending, document) if files is None else files
            command.stdout.write(f"{write_files(out, dict(found))} files in {out}")
        elif table:
            command.stdout.write(write(self.make(table, facts), ending), ending="")
        elif ending == "csv":
            raise CommandError("one CSV file holds one table: give --table or --out")
        else:
            command.stdout.write(document(ending), ending="")


def attached(content: str, content_type: str, name: str) -> HttpResponse:
    """A file to keep."""
    response = HttpResponse(content, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def as_file(report: Report, ending: str) -> HttpResponse:
    written = FORMATS[ending]
    return attached(written.write(report), written.content_type, f"{report.name}.{ending}")


def as_picture(picture: str, name: str) -> HttpResponse:
    return attached(picture, "image/svg+xml", f"{name}.svg")


def check_address(ending: str, name: str = "", registry: Registry[Any] | None = None) -> None:
    """Raises Http404 where there is no such format, or no such report."""
    if ending not in FORMATS or (registry is not None and name not in registry):
        raise Http404


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
