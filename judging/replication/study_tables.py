"""Tables of a paper in a study file: where each figure stands here, and what the paper prints."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from judging.replication.study_parts import Key, Name, Part, Real, Short, Whole, doubled_in, shape


class Unit(StrEnum):
    """What published figures are in."""

    NUMBER = "number"
    PERCENT = "percent"
    """Of a share that lies between 0 and 1 here; of a difference: percentage points."""


class Published(Part):
    """A figure as the paper prints it. What it says of its spread makes the difference's interval:
    a standard error, a 95 % interval, or, of a share, what it is of.
    """

    value: Real
    se: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    low: Real | None = None
    high: Real | None = None
    of: Whole | None = None

    @model_validator(mode="after")
    def _has_both_ends(self) -> Self:
        if (self.low is None) != (self.high is None):
            raise ValueError("an interval has `low` and `high`")
        low = self.value if self.low is None else self.low
        high = self.value if self.high is None else self.high
        if not low <= self.value <= high:
            raise ValueError("`value` lies outside of `low` and `high`")
        if sum(each is not None for each in (self.se, self.low, self.of)) > 1:
            raise ValueError("give one of `se`, `low` and `high`, and `of`")
        return self


Printed = Annotated[
    Annotated[Real, Tag("plain")] | Annotated[Published, Tag("table")], Discriminator(shape)
]
Select = Mapping[Key, str | int | float | bool]


class Place(Part):
    """Where a figure stands, and how it counts: in which report, of what, in the row where columns
    say `select`.
    """

    report: Short = ""
    arm: Short = ""
    judging: Short = ""
    versus: Short = ""
    """What is held against it: an arm (in the report `comparison`), or another judging."""
    select: Select = {}
    verdict: Short = ""
    """Of arms: whose verdicts count; `reward`, `reference` or `evaluator:NAME`."""
    unsure: Literal["", "in", "out"] = ""
    pairing: Literal["", "people", "order"] = ""
    no_verdict: Literal["", "left-out", "wrong"] = ""
    split: Short = ""


class TableColumn(Place):
    """A column of the paper's table: a column of a report, by its key in files."""

    key: Key
    name: Short = ""
    column: Short = ""
    unit: Unit = Unit.NUMBER


class TableRow(Place):
    """A row of the paper's table, with what the paper prints there by the key of the column."""

    name: Name
    published: Mapping[Key, Printed] = {}


class Table(Place):
    """A table of the paper, whose figures stand in reports."""

    key: Key
    title: Name
    place: Name
    """Where it stands in the paper."""
    columns: Annotated[tuple[TableColumn, ...], Field(min_length=1)]
    rows: Annotated[tuple[TableRow, ...], Field(min_length=1)]

    def place_of(self, row: TableRow, column: TableColumn) -> Place:
        """Where the figure of a row and column stands; what is said closest to it counts."""
        parts = (self, row, column)
        of = next((each for each in reversed(parts) if each.arm or each.judging), self)
        said = {
            name: next((found for each in reversed(parts) if (found := getattr(each, name))), "")
            for name in Place.model_fields.keys() - {"arm", "judging", "select"}
        }
        select = {**self.select, **row.select, **column.select}
        return Place(**said, arm=of.arm, judging=of.judging, select=select)

    @model_validator(mode="after")
    def _places_its_figures(self) -> Self:
        keys = [column.key for column in self.columns]
        if doubled := doubled_in(keys):
            raise ValueError(f"{self.key}: two columns have the key {doubled!r}")
        for row in self.rows:
            where = f"{self.key}, row {row.name!r}"
            if unknown := sorted(set(row.published) - set(keys)):
                raise ValueError(f"{where}: publishes {unknown[0]!r}, which is no column")
            for column in self.columns:
                place = self.place_of(row, column)
                if not place.report:
                    raise ValueError(f"{where}, column {column.key!r}: name a `report`")
                if bool(place.arm) == bool(place.judging):
                    words = "name an `arm` or a `judging`"
                    raise ValueError(f"{where}, column {column.key!r}: {words}")
        return self
