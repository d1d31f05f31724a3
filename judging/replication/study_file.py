"""A study file: a published study as TOML, read into frozen types. Its parts: docs/replicating.md.

`python -m judging.replication.study_file > docs/schema/study-1.json` writes the schema anew.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    StringConstraints,
    Tag,
    ValidationError,
    model_validator,
)

from webagent.knowledge.entries import Level, Relatedness
from webagent.recovery.retry_policy import PolicyBody, RecoveryPolicy
from webagent.trajectory.canonical import hashed_json
from webagent.trajectory.values import field_errors

FORMAT = "crosscheck-study/1"
LARGEST_FILE = 1_000_000
"""Bytes of a study file."""
Key = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,49}$")]
Short = Annotated[str, StringConstraints(max_length=200)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=120, strip_whitespace=True)]
Words = Annotated[str, StringConstraints(max_length=5000)]
Path = Annotated[str, StringConstraints(min_length=1, max_length=300)]
Whole = Annotated[int, Field(ge=1, le=1_000_000)]
Real = Annotated[float, Field(allow_inf_nan=False)]


class StudyFileError(ValueError):
    """The file is no study file. The words name the file, the field and the reason."""

    def __init__(self, file: str, field: str, reason: str) -> None:
        super().__init__(f"{file}, {field}: {reason}" if field else f"{file}: {reason}")
        self.file, self.field, self.reason = file, field, reason


def _shape(value: object) -> str:
    """Whether a value that may be either is a table, so that errors are of what was meant."""
    return "table" if isinstance(value, dict | BaseModel) else "plain"


class Part(BaseModel):
    """A table of the file. What it does not know is an error, lest a misspelt field be ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Paper(Part):
    """What is replicated."""

    title: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    authors: tuple[Short, ...] = ()
    year: Annotated[int, Field(ge=1900, le=2200)] | None = None
    venue: Short = ""
    url: Annotated[str, StringConstraints(max_length=500, pattern=r"^(https?://\S+)?$")] = ""


class PaperTasks(Part):
    """The tasks that the paper had, as far as it says."""

    set: Short = ""
    split: Short = ""
    count: Whole | None = None


class TaskChoice(Part):
    """Tasks of one set, `NAME` or `NAME VERSION`; of one split; narrowed by site, kind or id."""

    set: Name
    split: Short = ""
    sites: tuple[Short, ...] = ()
    kinds: tuple[Short, ...] = ()
    ids: tuple[Short, ...] = ()
    infeasible: bool = False
    paper: PaperTasks = PaperTasks()


class Trials(Part):
    """How often each arm tries each task, and by which seeds."""

    count: Annotated[int, Field(ge=1, le=100)] = 1
    seeds: Short = "random"


class KnowledgeChoice(Part):
    """Web knowledge of an arm: a stored set by its words, or what a `learning` of the file made.

    `kind` and `site` say which of several sets a learning made.
    """

    set: Name
    kind: Literal["raw", "summarised"] = "summarised"
    site: Short = ""
    select: Literal["all", "relevant"] = "all"
    top: Whole = 10
    tokens: Annotated[int, Field(ge=0)] | None = None
    """The budget; none: the agent's usual one."""


class HintChoice(Part):
    """Hints of an arm: one condition each of these levels and relatednesses, and one without.

    `source`: a `learning` of the file, or the id of a finished job.
    """

    source: Name
    levels: tuple[Level, ...] = tuple(Level)
    relatednesses: tuple[Relatedness, ...] = tuple(Relatedness)


class PaperArm(Part):
    """The same arm in the paper, as far as it says."""

    agent: Short = ""
    model: Short = ""
    prompts: Short = ""
    max_steps: Whole | None = None
    trials: Whole | None = None
    knowledge_entries: Whole | None = None
    detector: Mapping[str, JsonValue] = {}
    """Fields of a recovery policy, such as `loop_shortest`."""

    @model_validator(mode="after")
    def _is_detector(self) -> Self:
        RecoveryPolicy.model_validate(dict(self.detector))
        return self


PolicyChoice = Annotated[
    Annotated[Short, Tag("plain")] | Annotated[PolicyBody, Tag("table")], Discriminator(_shape)
]
"""A stored policy, `NAME` or `NAME@VERSION`, or one that is spelt out."""


class Arm(Part):
    """One thing that is compared: an agent with everything that makes it what it is.

    It is run, or, with `experiment`, taken from runs that are here. Then `agent`, `model` and
    `config` say which configuration of that experiment it is, where there are several.
    """

    name: Short = ""
    experiment: Short = ""
    tasks: Key | None = None
    """Which of the file's; none: its only ones."""
    agent: Short = ""
    model: Short = ""
    examples: Annotated[int, Field(ge=0, le=5)] | None = None
    config: Mapping[str, JsonValue] = {}
    knowledge: KnowledgeChoice | None = None
    hints: HintChoice | None = None
    policy: PolicyChoice = ""
    max_steps: Whole | None = None
    paper: PaperArm = PaperArm()

    @model_validator(mode="after")
    def _is_run_or_here(self) -> Self:
        if not self.experiment and not self.agent:
            raise ValueError("give `agent` to run it, or `experiment` for runs that are here")
        if self.experiment and (self.knowledge or self.hints or self.policy or self.max_steps):
            raise ValueError("runs of an `experiment` that is here have their settings already")
        return self


class Learning(Part):
    """What is learned from runs of arms before other arms start."""

    kind: Literal["hints", "knowledge"]
    arms: Annotated[tuple[Key, ...], Field(min_length=1)]
    model: Name
    summarise: bool = False
    """Knowledge: summarise what was extracted."""
    name: Short = ""
    """Knowledge: the set's name; the study's by default."""
    max_cost: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class EvaluatorChoice(Part):
    """An evaluator with its settings, and what it may cost in US dollars."""

    name: Name
    model: Short = ""
    settings: Mapping[str, JsonValue] = {}
    max_cost: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class PaperJudging(Part):
    """How the paper judged, as far as it says."""

    annotators: Whole | None = None
    runs: Whole | None = None
    evaluators: tuple[Short, ...] = ()
    judge_model: Short = ""


class Judging(Part):
    """Runs that people judge: those of arms, those of a `study` that is here, or of `labels`.

    `labels` (labels, verdicts, adjudications) and `causes` are files beside the study file. The
    sample is drawn by its seed.
    """

    name: Short = ""
    arms: tuple[Key, ...] = ()
    study: Short = ""
    labels: tuple[Path, ...] = ()
    causes: Path | None = None
    sample: Whole | None = None
    seed: Annotated[int, Field(ge=0, le=2**53)] = 0
    annotators: tuple[Short, ...] = ()
    adjudicators: tuple[Short, ...] = ()
    labels_per_run: Annotated[int, Field(ge=2, le=5)] = 2
    hides_identity: bool = True
    asks_milestones: bool = False
    asks_failure_details: bool = False
    repeat_share: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    failure_causes: tuple[Short, ...] = ()
    guidelines: Annotated[str, StringConstraints(max_length=50_000)] = ""
    evaluators: tuple[EvaluatorChoice, ...] = ()
    paper: PaperJudging = PaperJudging()

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if sum(map(bool, (self.arms, self.study, self.labels))) != 1:
            raise ValueError("give one of `arms`, `study` and `labels`")
        return self


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
    Annotated[Real, Tag("plain")] | Annotated[Published, Tag("table")], Discriminator(_shape)
]
Select = Mapping[Key, str | int | float | bool]


class Place(Part):
    """Where a figure stands: in which report, of what, in the row where columns say `select`."""

    report: Short = ""
    arm: Short = ""
    versus: Short = ""
    """For the report `comparison`: the arm that is held against `arm`."""
    judging: Short = ""
    select: Select = {}


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
    verdict: Short = ""
    """Of arms: whose verdicts count; `reward`, `reference` or `evaluator:NAME`."""
    unsure: Literal["in", "out"] = "in"
    no_verdict: Literal["left-out", "wrong"] = "left-out"
    split: Short = ""
    columns: Annotated[tuple[TableColumn, ...], Field(min_length=1)]
    rows: Annotated[tuple[TableRow, ...], Field(min_length=1)]

    def place_of(self, row: TableRow, column: TableColumn) -> Place:
        """Where the figure of a row and column stands; what is said closest to it counts."""
        parts = (self, row, column)
        said: dict[str, Any] = {
            name: next((found for each in reversed(parts) if (found := getattr(each, name))), "")
            for name in ("report", "versus")
        }
        of = next((each for each in reversed(parts) if each.arm or each.judging), self)
        select = {**self.select, **row.select, **column.select}
        return Place(**said, arm=of.arm, judging=of.judging, select=select)


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
        return hashlib.sha256(hashed_json(said)).hexdigest()

    def tasks_of(self, arm: Arm) -> TaskChoice:
        """The tasks of an arm that is run: those that it names, or the only ones of the file."""
        return self.tasks[arm.tasks or next(iter(self.tasks))]

    @model_validator(mode="after")
    def _names_what_is_there(self) -> Self:
        for place, key, there in self._named():
            if key not in there:
                known = ", ".join(there) or "none"
                raise ValueError(f"{place} names {key!r}, which is not in the file; it has {known}")
        if doubled := _doubled([each.key for each in self.tables]):
            raise ValueError(f"tables: two have the key {doubled!r}")
        for table in self.tables:
            _check_table(table)
        return self

    def _named(self) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Each place that names a part of the file, with the name and the parts of that kind."""
        for key, arm in self.arms.items():
            if arm.tasks or not arm.experiment:
                only = next(iter(self.tasks), "") if len(self.tasks) == 1 else ""
                yield f"arms.{key}.tasks", arm.tasks or only, self.tasks
        for key, learning in self.learning.items():
            for arm_key in learning.arms:
                yield f"learning.{key}.arms", arm_key, self.arms
        for key, judging in self.judging.items():
            for arm_key in judging.arms:
                yield f"judging.{key}.arms", arm_key, self.arms
        for table in self.tables:
            for row in table.rows:
                for column in table.columns:
                    place = table.place_of(row, column)
                    where = f"tables.{table.key}, row {row.name!r}"
                    for named, there in ((place.arm, self.arms), (place.versus, self.arms)):
                        if named:
                            yield where, named, there
                    if place.judging:
                        yield where, place.judging, self.judging
        parts = {**self.arms, **self.judging, **self.tasks, **self.learning}
        for known in self.deviations:
            for about in known.about:
                yield "deviations.about", about, parts


def _check_table(table: Table) -> None:
    """Raises ValueError where a figure has no place, or stands in no column."""
    if doubled := _doubled([each.key for each in table.columns]):
        raise ValueError(f"tables.{table.key}: two columns have the key {doubled!r}")
    keys = {each.key for each in table.columns}
    for row in table.rows:
        if unknown := sorted(set(row.published) - keys):
            where = f"tables.{table.key}, row {row.name!r}"
            raise ValueError(f"{where}: publishes {unknown[0]!r}, which is no column")
        for column in table.columns:
            place = table.place_of(row, column)
            where = f"tables.{table.key}, row {row.name!r}, column {column.key!r}"
            if not place.report:
                raise ValueError(f"{where}: name a `report`")
            if bool(place.arm) == bool(place.judging):
                raise ValueError(f"{where}: name an `arm` or a `judging`")


def _doubled(keys: list[str]) -> str | None:
    return next((key for place, key in enumerate(keys) if key in keys[:place]), None)


def read_study_file(content: bytes, file: str) -> StudyFile:
    """The study of a file's content; `file` is its name in messages.

    Raises:
        StudyFileError: it is none; nothing else is raised, whatever the content is.
    """
    if len(content) > LARGEST_FILE:
        raise StudyFileError(file, "", f"is larger than {LARGEST_FILE:,} bytes")
    try:
        said = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise StudyFileError(file, "", f"is no UTF-8 text, from byte {error.start} on") from None
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise StudyFileError(file, "", f"is no TOML: {error}") from None
    try:
        return StudyFile.model_validate(said)
    except ValidationError as error:
        wrong = field_errors(error)[0]
        raise StudyFileError(file, wrong.field, wrong.reason) from None


P = TypeVar("P", bound=BaseModel)


def study_schema() -> dict[str, Any]:
    """The JSON Schema of a study file, once TOML is read."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **StudyFile.model_json_schema(),
        "title": FORMAT,
    }


def study_schema_text() -> str:
    """The schema as it stands in `docs/schema/study-1.json`."""
    return json.dumps(study_schema(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(study_schema_text())
