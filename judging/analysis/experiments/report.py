"""Everything that the page of an experiment shows, as one document or as a folder of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from django.utils.translation import gettext as _

from judging.analysis.experiments.report_query import ReportQuery
from judging.analysis.experiments.tables import PER_RUN, TABLES
from judging.analysis.reports import FORMATS, Table, write_json_of, write_tables, write_text

ENDINGS: Mapping[str, str] = {
    "text": "txt",
    "csv": "csv",
    "json": "json",
    "markdown": "md",
    "latex": "tex",
}
"""Endings of files by the name of their format."""


def tables_of(asked: ReportQuery) -> list[Table]:
    """The tables that fit a document, those without any row left out."""
    made = (make(asked) for name, make in TABLES.items() if name not in PER_RUN)
    return [table for table in made if table.rows]


def written(table: Table, ending: str) -> str:
    """One table in the format of this ending."""
    return write_text(table) if ending == "txt" else FORMATS[ending].write(table)


def whole_report(asked: ReportQuery, ending: str) -> str:
    """The report as one text.

    Raises:
        ValueError: for CSV, of which a file holds one table only.
    """
    title = _("%(experiment)s by %(source)s") % {
        "experiment": asked.scope.experiment.name,
        "source": asked.source.name,
    }
    tables = tables_of(asked)
    if ending == "json":
        return write_json_of(title, tables)
    if ending == "csv":
        raise ValueError("one CSV file holds one table")
    if ending == "txt":
        return "\n".join([f"{title}\n", *map(write_text, tables)])
    return write_tables(title, tables, ending)


def report_files(asked: ReportQuery, ending: str) -> Iterator[tuple[Path, str]]:
    """A file for each table, that of the runs too; the whole document beside them but for CSV."""
    for name, make in TABLES.items():
        yield Path(f"{name}.{ending}"), written(make(asked), ending)
    if ending != "csv":
        yield Path(f"report.{ending}"), whole_report(asked, ending)
