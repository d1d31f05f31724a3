"""Figures as the API gives them: a number or why there is none, with its interval."""

from typing import Any

from pydantic import BaseModel, Field

from judging.analysis.reports.report import Report
from judging.statistics.figures import LEVEL, Figure, Interval, Undefined
from runs.api.bodies import filled


class IntervalOut(BaseModel):
    """Where a figure may lie."""

    low: float
    high: float
    level: float = Field(description="0.95 for 95 %.")
    method: str


class FigureOut(BaseModel):
    """A figure. Where there is none, `reason` says why."""

    value: float | None
    reason: str | None
    interval: IntervalOut | None


class ColumnOut(BaseModel):
    """A column of a table."""

    key: str
    name: str


class TableOut(BaseModel):
    """A table of a page, as it is downloaded there."""

    name: str
    title: str
    notes: list[str]
    columns: list[ColumnOut]
    rows: list[dict[str, Any]] = Field(description="Values by the key of their column.")


def figure_out(value: Figure | None, interval: Interval | Undefined | None = None) -> FigureOut:
    """The figure with its interval, if there are any."""
    is_undefined = isinstance(value, Undefined)
    return FigureOut(
        value=None if is_undefined else value,
        reason=str(value.reason.value) if isinstance(value, Undefined) else None,
        interval=(
            filled(IntervalOut, interval, level=LEVEL) if isinstance(interval, Interval) else None
        ),
    )


def table_out(table: Report) -> TableOut:
    """The table with its rows as objects."""
    keys = [column.key for column in table.header]
    return TableOut(
        name=table.name,
        title=table.title,
        notes=list(table.notes),
        columns=[ColumnOut(key=column.key, name=str(column.name)) for column in table.header],
        rows=[dict(zip(keys, row, strict=True)) for row in table.values],
    )
