"""Rows into files: CSV, JSON Lines and Parquet, as many rows in memory as a batch has."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, BinaryIO, NamedTuple

from django.utils.module_loading import import_string

from judging.portability.judgements.columns import DataColumn, Type, cell_of_value

Row = Mapping[str, Any]


class DataFormat(NamedTuple):
    """`writer` names the function: Parquet's library is large, and few processes need it."""

    name: str
    content_type: str
    writer: str

    def write(self, file: BinaryIO, columns: Sequence[DataColumn], rows: Iterable[Row]) -> int:
        """Write all rows; how many there were."""
        n_rows: int = import_string(self.writer)(file, columns, rows)
        return n_rows


DATA_FORMATS: Mapping[str, DataFormat] = {
    "csv": DataFormat("CSV", "text/csv; charset=utf-8", f"{__name__}.write_csv"),
    "jsonl": DataFormat("JSONL", "application/jsonl", f"{__name__}.write_jsonl"),
    "parquet": DataFormat(
        "Parquet",
        "application/vnd.apache.parquet",
        "judging.portability.judgements.table_parquet.write_parquet",
    ),
}
"""By the ending of the file's name."""


def write_csv(file: BinaryIO, columns: Sequence[DataColumn], rows: Iterable[Row]) -> int:
    """RFC 4180 with a header line; no cell is a formula to a spreadsheet."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        table = csv.writer(text)
        table.writerow([column.name for column in columns])
        count = 0
        spellers = [(column.name, _speller(column)) for column in columns]
        for row in rows:
            tell = row.get
            table.writerow(
                ["" if (v := tell(name)) is None else spell(v) for name, spell in spellers]
            )
            count += 1
    finally:
        text.detach()  # or the file would be closed with it
    return count


def write_jsonl(file: BinaryIO, columns: Sequence[DataColumn], rows: Iterable[Row]) -> int:
    """An object a line, without what is unknown."""
    count = 0
    for row in rows:
        told = {c.name: row[c.name] for c in columns if row.get(c.name) is not None}
        file.write(json.dumps(told, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        count += 1
    return count


def _speller(column: DataColumn) -> Callable[[Any], str]:
    """How the column's cells spell a value."""
    if column.type is Type.YES_NO:
        return lambda value: "true" if value else "false"
    if column.type in (Type.JSON, Type.WORDS):
        return _AS_JSON
    if column.type in (Type.WHOLE, Type.NUMBER, Type.MONEY):
        return str
    return partial(_spelled, column.name)


def _spelled(name: str, value: Any) -> str:
    """A text as its cell; most begin so that no spreadsheet takes them for a formula."""
    first = value[:1] if isinstance(value, str) else ""
    return value if first.isalnum() and first.isascii() else cell_of_value(name, value)


_AS_JSON = json.JSONEncoder(ensure_ascii=False).encode
