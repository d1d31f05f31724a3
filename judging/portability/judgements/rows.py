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
from typing import Any, BinaryIO, cast

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

from judging.portability.judgements.annotations import (
    Row,
    annotation_rows,
    is_annotations_header,
)
from judging.portability.judgements.columns import CONTENT_HASH, KNOWN, RUN_ID, value_of_cell
from webagent.measures.sequence_matching import first_repeated
from webagent.trajectory.bundles import InputError, Problem
from webagent.trajectory.texts import storable_json

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
                raise InputError("", f"there are more than {MOST_ROWS} rows", line=row.line)
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
                raise InputError(
                    "", f"the line is longer than {LONGEST_LINE} characters", line=number
                )
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
            raise InputError("", f"the line is longer than {LONGEST_LINE} bytes", line=number)
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
            yield _problem(number, "", "is no JSON")
            continue
        if not isinstance(values, dict):
            yield _problem(number, "", "is no JSON object")
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
            if header is None and is_annotations_header(cells):
                yield from annotation_rows(cells, table, before)
                return
            if header is None:
                header = _header(cells, start)
            elif any(cell.strip() for cell in cells):
                yield _csv_row(start, header, cells)
            start = before + table.line_num + 1
    except csv.Error as error:
        raise InputError("", f"is no CSV: {error}", line=start) from error


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
            return _problem(line, name, "is no JSON")
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
