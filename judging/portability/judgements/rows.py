"""A file of labels, row by row: CSV with a header, or JSON Lines, told apart by content.

AgentRewardBench's annotations are known by their header. CSV as spreadsheets write it too: with
semicolons or tabs, in UTF-16, with a mark at its beginning.
"""

from __future__ import annotations

import csv
import io
import json
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import chain
from typing import Any, BinaryIO, NamedTuple, cast

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

from judging.portability.judgements.columns import (
    ADJUDICATION,
    CONTENT_HASH,
    EXPERIMENT,
    KIND,
    KNOWN,
    LABEL,
    RUN_ID,
    value_of_cell,
)
from webagent.measures import first_repeated
from webagent.trajectory.bundles import same_task
from webagent.trajectory.formats.agentrewardbench.trajectories import Key
from webagent.trajectory.formats.agentrewardbench.verdicts import (
    NEEDED,
    Annotation,
    label,
    primary_verdict,
)
from webagent.trajectory.intake import InputError, Problem
from webagent.trajectory.records import Record
from webagent.trajectory.texts import bounded_name, storable_json
from webagent.trajectory.verdict_records import LabelRecord

LONGEST_LINE = 4_000_000
"""Bytes."""
MOST_ROWS = 1_000_000
LONGEST_TEXT = 100_000
"""Characters of one value."""
DEEPEST = 16
SEPARATORS = (",", ";", "\t")
"""Spreadsheets write the one that their country's settings ask for."""
SEPARATOR_LINE = "sep="
"""Begins a line before the header that names the separator, for spreadsheets."""
ZIP_MAGIC = b"PK\x03\x04"


class Row(NamedTuple):
    """What one row says, by column; what it leaves empty is missing."""

    line: int
    values: dict[str, Any]


def read_rows(file: BinaryIO) -> Generator[Row | Problem]:
    """Each row in turn, as much in memory as one row. Never raises over what the file holds.

    A `Rejection` is the last: nothing can be read from its line on.
    """
    try:
        lines = _lines(file)
        first = next((each for each in lines if each[1].strip()), None)
        if first is None:
            raise InputError("", _("the file is empty"), line=1)
        if first[1].lstrip().startswith("["):
            raise InputError(
                "", _("is a JSON array; JSON Lines have one object a line"), line=first[0]
            )
        read = _json_rows if first[1].lstrip().startswith("{") else _csv_rows
        for number, row in enumerate(read(first, lines), start=1):
            if number > MOST_ROWS:
                raise InputError("", f"more than {MOST_ROWS} lines", line=row.line)
            yield row
    except InputError as error:
        yield error.rejection("")


def unreadable(file: BinaryIO | UploadedFile[Any]) -> Problem | None:
    """Why nothing at all can be read from the file, as its beginning tells; it is put back."""
    stream = cast(BinaryIO, file.file if isinstance(file, UploadedFile) else file)
    with closing(read_rows(stream)) as rows:
        first, second = next(rows, None), next(rows, None)
    stream.seek(0)
    return first if isinstance(first, Problem) and second is None else None


def _lines(file: BinaryIO) -> Iterator[tuple[int, str]]:
    head = file.read(len(ZIP_MAGIC))
    file.seek(-len(head), io.SEEK_CUR)
    if head == ZIP_MAGIC:
        raise InputError(
            "", _("is a zip or a workbook, no CSV; a spreadsheet saves it as “CSV UTF-8”"), line=1
        )
    return _wide_lines(file) if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else _plain(file)


def _wide_lines(file: BinaryIO) -> Iterator[tuple[int, str]]:
    """Of UTF-16, as spreadsheets write what they call Unicode text."""
    text = io.TextIOWrapper(file, encoding="utf-16", newline="\n")
    number = 0
    try:
        while line := text.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise InputError("", f"a line of more than {LONGEST_LINE} characters", line=number)
            yield number, line
    except UnicodeDecodeError as error:
        raise InputError("", _("is not UTF-16, as its beginning says"), line=number + 1) from error
    finally:
        text.detach()  # the file is not ours to close


def _plain(file: BinaryIO) -> Iterator[tuple[int, str]]:
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise InputError("", f"a line of more than {LONGEST_LINE} bytes", line=number)
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                "", _("is not UTF-8; a spreadsheet saves it as “CSV UTF-8”"), line=number
            ) from error


def _json_rows(first: tuple[int, str], lines: Iterator[tuple[int, str]]) -> Iterator[Row | Problem]:
    for number, line in chain([first], lines):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            yield _problem(number, "", "not readable as JSON")
            continue
        if not isinstance(values, dict):
            yield _problem(number, "", "not a JSON object")
            continue
        yield _storable(number, {key: each for key, each in values.items() if each is not None})


def _csv_rows(first: tuple[int, str], lines: Iterator[tuple[int, str]]) -> Iterator[Row | Problem]:
    separator = _separator(first[1])
    if first[1].lower().startswith(SEPARATOR_LINE):
        first = next(lines, (first[0] + 1, ""))
    if "\r" in first[1].rstrip("\r\n"):
        raise InputError(
            "",
            _("its lines end with CR alone; a spreadsheet saves it as “CSV UTF-8”"),
            line=first[0],
        )
    before = first[0] - 1
    written = (line for _, line in chain([first], lines))
    table = csv.reader(written, delimiter=separator, strict=True)
    header: list[str] | None = None
    start = first[0]
    try:
        for cells in table:
            if header is None and (names := _annotation_names(cells)):
                yield from _annotation_rows(names, table, before)
                return
            if header is None:
                header = _header(cells, start)
            elif any(cell.strip() for cell in cells):
                yield _csv_row(start, header, cells)
            start = before + table.line_num + 1
    except csv.Error as error:
        raise InputError("", f"not readable as CSV: {error}", line=start) from error


def _separator(first: str) -> str:
    """What stands between the cells: as the first line says, else what finds most columns in it."""
    told = first.rstrip("\r\n").lower().removeprefix(SEPARATOR_LINE)
    if first.lower().startswith(SEPARATOR_LINE) and told in SEPARATORS:
        return told

    def known(separator: str) -> int:
        return len(KNOWN & {_named(cell.strip('"')) for cell in first.split(separator)})

    return max(SEPARATORS, key=known)


def _named(cell: str) -> str:
    return cell.strip().lower().replace(" ", "_")


def _header(cells: list[str], line: int) -> list[str]:
    names = [_named(cell) for cell in cells]
    if not {RUN_ID, CONTENT_HASH, "task"} & set(names):
        why = _("the first line names no column that tells the run: run_id, content_hash or task")
        raise InputError("", why, line=line)
    if twice := first_repeated(name for name in names if name):
        raise InputError(twice, _("the column stands there twice"), line=line)
    return names


def _csv_row(line: int, header: list[str], cells: list[str]) -> Row | Problem:
    if len(cells) != len(header):
        return _problem(line, "", f"has {len(cells)} cells; the header has {len(header)}")
    values = {}
    for name, cell in zip(header, cells, strict=True):
        if not cell.strip():
            continue
        try:
            values[name] = value_of_cell(name, cell)
        except (ValueError, RecursionError):
            return _problem(line, name, "not readable as JSON")
    return _storable(line, values)


def _storable(line: int, values: dict[str, Any]) -> Row | Problem:
    for name, value in values.items():
        try:
            fits = storable_json([name, value], LONGEST_TEXT, DEEPEST) == [name, value]
        except ValueError:
            fits = False
        if not fits:
            return _problem(line, name, "is too long, too deep or holds what cannot be stored")
    return Row(line, values)


def _problem(line: int, field: str, reason: str) -> Problem:
    return Problem("", "", field, reason, line)


_OF_PLACE = {"id", "run_id", "study", "label_ids"}
"""Fields that follow from where the row goes."""


def _annotation_names(cells: list[str]) -> list[str] | None:
    """The columns of the benchmark's annotations; None if this first line is of something else."""
    names = [cell.strip().removeprefix("\ufeff") for cell in cells]
    return names if set(NEEDED) <= set(names) else None


def _annotation_rows(
    names: list[str], table: Iterator[list[str]], before: int
) -> Iterator[Row | Problem]:
    """A label for each annotation; after the last, each run's verdict by the benchmark's rule.

    The first annotator in the file counts, unless they are unsure.

    Args:
        table: a `csv.reader` after its first line.
        before: lines before that one.
    """
    first: dict[Key, tuple[int, dict[str, Any], LabelRecord]] = {}
    for cells in table:
        if not any(cell.strip() for cell in cells):
            continue
        line = before + getattr(table, "line_num", 0)
        annotation = Annotation(line, dict(zip(names, cells, strict=False)))
        if not annotation.is_whole or len(cells) != len(names):
            yield _problem(line, "", "has not all cells that an annotation has")
            continue
        said = label(annotation, "run")
        if said is None:
            why = "is none of Successful, Unsuccessful, Unsure"
            yield _problem(line, "trajectory_success", why)
            continue
        run = _run_of(annotation)
        yield Row(line, run | {KIND: LABEL} | _values(said))
        first.setdefault((run["task_set"], run["agent"], run["task"]), (line, run, said))
    for line, run, said in first.values():
        if verdict := primary_verdict((said,)):
            yield Row(line, run | {KIND: ADJUDICATION} | _values(verdict))


def _run_of(annotation: Annotation) -> dict[str, Any]:
    """What tells the run; the benchmark calls the agent `model_name`."""
    row = annotation.row
    named = {
        "task_set": row["benchmark"],
        "task": same_task(row["task_id"].strip()),
        "agent": row["model_name"],
        EXPERIMENT: row.get("exp_name", ""),
    }
    return {key: bounded_name(value.strip()) for key, value in named.items() if value.strip()}


def _values(record: Record) -> dict[str, Any]:
    told = record.to_json()
    return {key: value for key, value in told.items() if key not in _OF_PLACE}
