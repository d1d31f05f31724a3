"""A study file: a published study as TOML, read into frozen types. Its parts: docs/replicating.md.

`python -m judging.replication.study_file > docs/schema/study-1.json` writes the schema anew.
"""

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, StringConstraints, Tag, ValidationError, model_validator

from judging.replication.study_parts import (
    Arm,
    Judging,
    Key,
    Learning,
    Name,
    Part,
    Path,
    Published,
    Real,
    Short,
    StudyFileError,
    TaskChoice,
    Trials,
    Unit,
    Words,
    doubled_in,
    shape,
)
from webagent.trajectory.canonical import json_digest
from webagent.trajectory.values import field_errors

FORMAT = "crosscheck-study/1"
LARGEST_FILE = 1_000_000
"""Bytes of a study file."""
LONGEST_LINE = 2_000
"""Characters: the reader of TOML takes quadratic time for the parts of a dotted key."""


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


class Paper(Part):
    """What is replicated."""

    title: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    authors: tuple[Short, ...] = ()
    year: Annotated[int, Field(ge=1900, le=2200)] | None = None
    venue: Short = ""
    url: Annotated[str, StringConstraints(max_length=500, pattern=r"^(https?://\S+)?$")] = ""


class KnownDeviation(Part):
    """What is known to differ from the paper, in words; `about`: arms and parts that it touches."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    about: tuple[Key, ...] = ()


class StudyFile(Part):
    """The whole file."""

    format: Literal["crosscheck-study/1"]
    name: Name
    """What its experiments and studies are called here, before the names of their parts."""
    description: Words = ""
    paper: Paper
    runs: tuple[Path, ...] = ()
    """Files of runs beside the study file that are imported first."""
    tasks: Mapping[Key, TaskChoice] = {}
    trials: Trials = Trials()
    arms: Mapping[Key, Arm] = {}
    learning: Mapping[Key, Learning] = {}
    judging: Mapping[Key, Judging] = {}
    tables: Annotated[tuple[Table, ...], Field(min_length=1)]
    deviations: tuple[KnownDeviation, ...] = ()

    @property
    def work_hash(self) -> str:
        """The hash of what is run, learned and judged: tables and words may change under it."""
        said = self.model_dump(
            mode="json", exclude={"paper", "tables", "deviations", "description"}
        )
        return json_digest(said)

    def tasks_of(self, arm: Arm) -> TaskChoice:
        """The tasks of an arm that is run: those that it names, or the only ones of the file."""
        return self.tasks[arm.tasks or next(iter(self.tasks))]

    def places(self) -> Iterator[tuple[str, Place]]:
        """Where each figure of the tables stands, with the words that name its row."""
        for table in self.tables:
            for row in table.rows:
                where = f"tables.{table.key}, row {row.name!r}"
                yield from ((where, table.place_of(row, column)) for column in table.columns)

    @model_validator(mode="after")
    def _names_what_is_there(self) -> Self:
        for place, key, there in self._named():
            if key not in there:
                known = ", ".join(there) or "none"
                raise ValueError(f"{place} names {key!r}, which is not in the file; it has {known}")
        if doubled := doubled_in([each.key for each in self.tables]):
            raise ValueError(f"tables: two have the key {doubled!r}")
        return self

    @model_validator(mode="after")
    def _waits_in_no_circle(self) -> Self:
        try:
            TopologicalSorter(
                {key: self.awaited_by(arm) for key, arm in self.arms.items()}
            ).prepare()
        except CycleError as error:
            circle = " → ".join(error.args[1])
            raise ValueError(f"arms: each learns from the one before: {circle}") from None
        return self

    def awaited_by(self, arm: Arm) -> set[str]:
        """The arms whose runs it learns from."""
        learned = [self.learning[name] for name in arm.learns_from if name in self.learning]
        return {source for learning in learned for source in learning.arms}

    def _named(self) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Each place that names a part of the file, with the name and the parts of that kind."""
        for key, arm in self.arms.items():
            if arm.tasks or not arm.experiment:
                only = next(iter(self.tasks), "") if len(self.tasks) == 1 else ""
                yield f"arms.{key}.tasks", arm.tasks or only, self.tasks
        for kind, parts in (("learning", self.learning), ("judging", self.judging)):
            for key, each in parts.items():
                yield from ((f"{kind}.{key}.arms", arm, self.arms) for arm in each.arms)
        for where, place in self.places():
            there = self.judging if place.judging else self.arms
            named = filter(None, (place.arm, place.judging, place.versus))
            yield from ((where, each, there) for each in named)
        everything = {**self.arms, **self.judging, **self.tasks, **self.learning}
        for known in self.deviations:
            yield from (("deviations.about", about, everything) for about in known.about)


def read_study_file(content: bytes, file: str) -> StudyFile:
    """The study of a file's content; `file` is its name in messages.

    Raises:
        StudyFileError: it is none; nothing else is raised, whatever the content is.
    """
    if len(content) > LARGEST_FILE:
        raise StudyFileError(file, "", f"is larger than {LARGEST_FILE:,} bytes")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StudyFileError(file, "", f"is no UTF-8 text, from byte {error.start} on") from None
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > LONGEST_LINE:
            reason = f"line {number} is longer than {LONGEST_LINE:,} characters"
            raise StudyFileError(file, "", reason)
    try:
        said = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise StudyFileError(file, "", f"is no TOML: {error}") from None
    try:
        return StudyFile.model_validate(said)
    except ValidationError as error:
        wrong = field_errors(error)[0]
        raise StudyFileError(file, wrong.field, wrong.reason) from None


@lru_cache(maxsize=100)
def is_readable(content: str) -> bool:
    """Whether stored content is a study file to this version of the program."""
    try:
        read_study_file(content.encode(), "")
    except StudyFileError:
        return False
    return True


def study_schema_text() -> str:
    """The JSON Schema of a study file, once TOML is read, as in `docs/schema/study-1.json`."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **StudyFile.model_json_schema(),
        "title": FORMAT,
    }
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(study_schema_text())
