"""Reports as files: CSV, JSON, Markdown, LaTeX, and text for a terminal.

CSV and JSON carry full precision under stable English keys; Markdown and LaTeX are for papers
and read like the page. A figure that does not exist is empty (null), with the reason in a column
of its own.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from django.utils import formats

from judging.analysis.reports.report import Cell, Column, Report, Value
from judging.analysis.reports.showing import p_words
from judging.statistics.comparison import PValue
from runs.interface.words import escape_formula

WIDEST_TEXT = 160
"""Columns of a terminal; a table that is wider is written a line a value."""


class Format(NamedTuple):
    content_type: str
    write: Callable[[Report], str]


def write_csv(report: Report) -> str:
    """RFC 4180, with a header line; text that a spreadsheet would run as a formula is quoted."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow([column.key for column in report.header])
    writer.writerows([_cell(value) for value in row] for row in report.values)
    return file.getvalue()


def _cell(value: Value) -> Value:
    return escape_formula(value) if isinstance(value, str) else value


def write_json(report: Report) -> str:
    """An object with title, notes and rows, each row an object by column key."""
    return _json(_as_object(report))


def _as_object(report: Report) -> dict[str, object]:
    keys = [column.key for column in report.header]
    return {
        "title": report.title,
        "notes": list(report.notes),
        "rows": [dict(zip(keys, row, strict=True)) for row in report.values],
    }


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def write_markdown(report: Report) -> str:
    """A pipe table under its title, numbers aligned to the right."""
    numeric = _numeric_columns(report)
    lines = [
        f"**{_markdown(report.title)}**",
        "",
        _markdown_row(str(column.name) for column in report.header),
        "|" + "|".join("--:" if right else "---" for right in numeric) + "|",
        *(_markdown_row(_text(value) for value in row) for row in report.values),
    ]
    lines += [f"\n{_markdown(note)}" for note in report.notes]
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
    # Letters and signs of our own formulas that LaTeX has under no character.
    "ₒ": "$_o$",
    "ₑ": "$_e$",
    "Σ": r"$\Sigma$",
    "α": r"$\alpha$",
    "κ": r"$\kappa$",
    "√": r"$\surd$",
    "→": r"$\rightarrow$",
    "↓": r"$\downarrow$",
}


def write_latex(report: Report) -> str:
    """A `table` environment with a `tabular` inside; takes the package booktabs."""
    align = "".join("r" if right else "l" for right in _numeric_columns(report))
    header = " & ".join(_latex(str(column.name)) for column in report.header)
    rows = [" & ".join(_latex(_text(value)) for value in row) + r" \\" for row in report.values]
    caption = " ".join(_latex(text) for text in (report.title + ".", *report.notes))
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


def _numeric_columns(report: Report) -> list[bool]:
    """Whether a column holds numbers alone."""
    rows = report.values
    return [
        any(isinstance(row[index], int | float) for row in rows)
        and not any(isinstance(row[index], str) for row in rows)
        for index in range(len(report.header))
    ]


def _text(value: Value) -> str:
    """The value as in a paper: fractions with three decimals, a dash for none."""
    if value is None:
        return "—"
    if isinstance(value, PValue):
        return p_words(value)
    if isinstance(value, float):
        return f"{value:.3f}".replace("-", "−")
    return formats.number_format(value) if isinstance(value, int) else value


def write_text(report: Report) -> str:
    """For a terminal: the columns of files, where they are too wide those of pages, else a line a
    value.
    """
    names = [str(column.name) for column in report.header]
    rows = [[_text(value) for value in row] for row in report.values]
    fitting = _beside_each_other(names, rows, _numeric_columns(report))
    if fitting is None:
        fitting = _beside_each_other(*_as_on_pages(report)) or _on_its_side(names, rows)
    return "\n".join([report.title, "-" * len(report.title), *fitting, *report.notes]) + "\n"


def _beside_each_other(
    names: list[str], rows: list[list[str]], right: Sequence[bool]
) -> list[str] | None:
    """The lines of a table; None where it is too wide."""
    widths = [max(map(len, cells)) for cells in zip(names, *rows, strict=True)]
    if sum(widths) + 2 * len(widths) > WIDEST_TEXT:
        return None
    padded = [
        [
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ]
        for row in (names, *rows)
    ]
    return ["  ".join(cells).rstrip() for cells in padded]


def _as_on_pages(report: Report) -> tuple[list[str], list[list[str]], list[bool]]:
    """The columns of pages, what stands below a figure in brackets, and which hold figures."""
    places = [place for place, column in enumerate(report.columns) if column.name]
    columns = [report.columns[place] for place in places]
    rows = [
        [_on_one_line(column, row[place]) for column, place in zip(columns, places, strict=True)]
        for row in report.rows
    ]
    names = [str(column.name) for column in columns]
    return names, rows, [not column.is_text for column in columns]


def _on_one_line(column: Column, cell: object) -> str:
    there = cell if isinstance(cell, Cell) else Cell(cell)
    shown = column.show(there.value)
    notes = ", ".join(filter(None, (shown.note, there.note)))
    return f"{shown.text} ({notes})" if notes else shown.text


def _on_its_side(names: list[str], rows: list[list[str]]) -> list[str]:
    margin = max(map(len, names))
    return [line for row in rows for line in (*map(f"{{:{margin}}}  {{}}".format, names, row), "")]


FORMATS: Mapping[str, Format] = {
    "csv": Format("text/csv; charset=utf-8", write_csv),
    "json": Format("application/json", write_json),
    "md": Format("text/markdown; charset=utf-8", write_markdown),
    "tex": Format("application/x-tex; charset=utf-8", write_latex),
}
"""Files to download, by the ending of their name."""
ENDINGS: Mapping[str, str] = {
    "text": "txt",
    "csv": "csv",
    "json": "json",
    "markdown": "md",
    "latex": "tex",
}
"""Endings of files by the name of their format in a command."""


def write(report: Report, ending: str) -> str:
    """The report as a file with this ending, `txt` too."""
    return write_text(report) if ending == "txt" else FORMATS[ending].write(report)


def write_document(title: str, reports: Sequence[Report], ending: str) -> str:
    """Several reports as one text.

    Raises ValueError for CSV, of which a file holds one table only.
    """
    if ending == "csv":
        raise ValueError("one CSV file holds one table")
    if ending == "json":
        return _json({"title": title, "tables": {each.name: _as_object(each) for each in reports}})
    heads = {"md": f"# {_markdown(title)}\n", "tex": f"% {' '.join(title.split())}\n"}
    head = heads.get(ending, f"{title}\n")
    return "\n".join([head, *(write(report, ending) for report in reports)])
