"""Rows as Parquet: typed columns, a row group a batch."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from judging.portability.judgements.columns import DataColumn, Type
from webagent.measures import batched

Row = Mapping[str, Any]
ROWS_AT_ONCE = 2000


def write_parquet(file: BinaryIO, columns: Sequence[DataColumn], rows: Iterable[Row]) -> int:
    """All columns may be null; each carries its meaning as metadata. The same rows, the same bytes.

    A value that does not fit its column, such as a time before the year 1, is null.
    """
    schema = pa.schema([_field(column) for column in columns])
    count = 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in batched(rows, ROWS_AT_ONCE):
            arrays = [
                pa.array(_values(column, batch), type=field.type)
                for column, field in zip(columns, schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            count += len(batch)
    return count


def _field(column: DataColumn) -> pa.Field:
    kind, _read = TYPES[column.type]
    return pa.field(column.name, kind, metadata={"meaning": column.meaning})


def _values(column: DataColumn, rows: Sequence[Row]) -> Iterator[Any]:
    _kind, read = TYPES[column.type]
    for row in rows:
        value = row.get(column.name)
        yield None if value is None else read(value)


def _time(value: str) -> datetime | None:
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _money(value: object) -> Decimal:
    return Decimal(str(value)).quantize(Decimal("0.000001"))


TYPES: Mapping[Type, tuple[pa.DataType, Callable[[Any], Any]]] = {
    Type.TEXT: (pa.string(), str),
    Type.WHOLE: (pa.int64(), int),
    Type.NUMBER: (pa.float64(), float),
    Type.MONEY: (pa.decimal128(14, 6), _money),
    Type.YES_NO: (pa.bool_(), bool),
    Type.TIME: (pa.timestamp("us", tz="UTC"), _time),
    Type.WORDS: (pa.list_(pa.string()), list),
    Type.JSON: (pa.string(), partial(json.dumps, ensure_ascii=False)),
}
"""What a column is there, and what makes a value of it."""
