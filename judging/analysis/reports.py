"""Tables to take away: CSV, JSON, Markdown and LaTeX of whatever a page shows as figures.

CSV and JSON carry full precision under stable English keys; Markdown and LaTeX are for papers
and read like the page. A figure that does not exist is empty (null), with the reason in a column
of its own.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.utils import formats
from django.utils.functional import Promise

from runs.interface.spreadsheets import escape_formula

Value = str | int | float | None
WIDEST_TEXT = 160
"""Columns of a terminal; a table that is wider is written a line a value."""


class Column(NamedTuple):
    """`key` names it to programs, `name` to people."""

    key: str
    name: str | Promise


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with a title and what must be known to read it."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    notes: Sequence[str] = ()


class Format(NamedTuple):
    content_type: str
    write: Callable[[Table], str]


def write_csv(table: Table) -> str:
    """RFC 4180, with a header line; text that a spreadsheet would run as a formula is quoted."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow([column.key for column in table.columns])
    writer.writerows([_cell(value) for value in row] for row in table.rows)
    return file.getvalue()


def _cell(value: Value) -> Value:
    return escape_formula(value) if isinstance(value, str) else value


def write_json(table: Table) -> str:
    """An object with title, notes and rows, each row an object by column key."""
    keys = [column.key for column in table.columns]
    content = {
        "title": table.title,
        "notes": list(table.notes),
        "rows": [dict(zip(keys, row, strict=True)) for row in table.rows],
    }
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def write_markdown(table: Table) -> str:
    """A pipe table under its title, numbers aligned to the right."""
    numeric = _numeric_columns(table)
    lines = [
        f"**{_markdown(table.title)}**",
        "",
        _markdown_row(str(column.name) for column in table.columns),
        "|" + "|".join("--:" if right else "---" for right in numeric) + "|",
        *(_markdown_row(_text(value) for value in row) for row in table.rows),
    ]
    lines += [f"\n{_markdown(note)}" for note in table.notes]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_markdown(cell) for cell in cells) + " |"


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", " ".join(text.split()))


_LATEX: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "−": r"$-$",
    "–": "--",
    "—": "---",
}


def write_latex(table: Table) -> str:
    """A `table` environment with a `tabular` inside; takes the package booktabs."""
    align = "".join("r" if right else "l" for right in _numeric_columns(table))
    header = " & ".join(_latex(str(column.name)) for column in table.columns)
    rows = [" & ".join(_latex(_text(value)) for value in row) + r" \\" for row in table.rows]
    caption = " ".join(_latex(text) for text in (table.title + ".", *table.notes))
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\begin{{tabular}}{{{align}}}",
        r"\toprule",
        header + r" \\",
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))


def _numeric_columns(table: Table) -> list[bool]:
    """Whether a column holds numbers alone."""
    return [
        any(isinstance(row[index], int | float) for row in table.rows)
        and not any(isinstance(row[index], str) for row in table.rows)
        for index in range(len(table.columns))
    ]


def _text(value: Value) -> str:
    """The value as in a paper: fractions with three decimals, a dash for none."""
    if value is None:
        return "—"
    if isinstance(value, float):
        return f"{value:.3f}".replace("-", "−")
    return formats.number_format(value) if isinstance(value, int) else value


def write_text(table: Table) -> str:
    """Columns beside each other for a terminal, wide tables turned on their side."""
    rows = [[_text(value) for value in row] for row in table.rows]
    names = [str(column.name) for column in table.columns]
    lines = [table.title, "-" * len(table.title)]
    widths = [max(map(len, cells)) for cells in zip(names, *rows, strict=True)]
    if sum(widths) + 2 * len(widths) <= WIDEST_TEXT:
        right = _numeric_columns(table)
        for row in [names, *rows]:
            cells = zip(row, widths, right, strict=True)
            padded = (cell.rjust(n) if is_right else cell.ljust(n) for cell, n, is_right in cells)
            lines.append("  ".join(padded).rstrip())
    else:
        margin = max(map(len, names))
        for row in rows:
            lines += [
                f"{name.ljust(margin)}  {cell}" for name, cell in zip(names, row, strict=True)
            ]
            lines.append("")
    return "\n".join([*lines, *table.notes]) + "\n"


def write_tables(title: str, tables: Sequence[Table], ending: str) -> str:
    """Several tables as one document, in Markdown (`md`) or LaTeX (`tex`)."""
    head = f"# {_markdown(title)}\n" if ending == "md" else f"% {' '.join(title.split())}\n"
    return "\n".join([head, *(FORMATS[ending].write(table) for table in tables)])


def write_json_of(title: str, tables: Sequence[Table]) -> str:
    """Several tables as one object, by name."""
    content = {
        "title": title,
        "tables": {table.name: json.loads(write_json(table)) for table in tables},
    }
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


FORMATS: Mapping[str, Format] = {
    "csv": Format("text/csv; charset=utf-8", write_csv),
    "json": Format("application/json", write_json),
    "md": Format("text/markdown; charset=utf-8", write_markdown),
    "tex": Format("application/x-tex; charset=utf-8", write_latex),
}
"""By the ending of the file's name."""
