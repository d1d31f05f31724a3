"""The lines of a study's bundle; docs/format.md says what they mean.

Runs are named by their id and content hash, tasks by set, version and id, people by username,
evaluators by the hash of their configuration, milestones by a key of the file.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal, Self
from uuid import UUID

from django.core.exceptions import ObjectDoesNotExist
from django.db import models
from pydantic import ConfigDict, Field, JsonValue, StringConstraints, model_validator

from judging.models import EvaluatorVersion, Guideline
from runs.models import TaskSet, User
from webagent.trajectory.records import Record, Sha256

Name = Annotated[str, StringConstraints(min_length=1, max_length=150)]
Short = Annotated[str, StringConstraints(max_length=200)]
Hash = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Whole = Annotated[int, Field(ge=0, le=2**31 - 1)]
Large = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Object = dict[str, JsonValue]


class Line(Record):
    """A line, made of a row or read from a file.

    Keys that nobody knows are refused, because what they say would be lost.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    COLUMNS: ClassVar[Mapping[str, str | None]] = {}
    """Of fields that are named otherwise than their column: its path; None where there is none."""

    @classmethod
    def of(cls, row: models.Model, **given: Any) -> Self:
        """The line of a row: what is given, and all other fields from the row's columns."""
        missing = [name for name in cls.model_fields if name not in given]
        return cls(**given, **{name: cls._value(row, name) for name in missing})

    @classmethod
    def _value(cls, row: models.Model, name: str) -> Any:
        path = cls.COLUMNS.get(name, name)
        try:
            return None if path is None else _named(attrgetter(path)(row))
        except ObjectDoesNotExist:
            return None

    @model_validator(mode="before")
    @classmethod
    def _of_row(cls, value: Any) -> Any:
        """A row that another line refers to."""
        if not isinstance(value, models.Model):
            return value
        return {name: cls._value(value, name) for name in cls.model_fields}


def _named(value: Any) -> Any:
    """How a file names what a column refers to; the rows of a relation."""
    match value:
        case User():
            return value.username
        case EvaluatorVersion():
            return value.config_hash
        case Guideline() | TaskSet():
            return value.version
        case models.Manager():
            return list(value.all())
    return value


class TaskRef(Line):
    COLUMNS = {"task_set": "task_set.name", "version": "task_set.version", "id": "external_id"}

    task_set: Short
    version: Short
    id: Short


class RunRef(Line):
    id: UUID
    content_hash: Sha256 | None = None


class StudyLine(Line):
    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    description: str = ""
    is_demo: bool = False
    is_open: bool
    labels_per_run: Annotated[int, Field(ge=1, le=100)]
    hides_identity: bool
    repeat_share: Annotated[float, Field(ge=0, le=1)]
    asks_milestones: bool
    asks_failure_details: bool
    taxonomy: list[Object]
    run_filter: Object
    sample_seed: Large
    sample_size: Whole | None = None
    created_by: Name | None = None
    created_at: datetime


class TaskSetLine(Line):
    name: Short
    version: Short
    parent: Short | None = None
    """Version of the set that a patch turned into this one."""
    patch: Object = {}
    patch_hash: Annotated[str, StringConstraints(max_length=64)] = ""


class RevisionPart(Line):
    category: Annotated[str, StringConstraints(max_length=30)]
    why: str
    changes: list[JsonValue]


class TaskLine(Line):
    task: TaskRef
    site: Short = ""
    sites: list[str] = []
    goal: str = ""
    start_urls: list[str] = []
    intent_template: str = ""
    spec: JsonValue | None = None
    reference: JsonValue | None = None
    template: Short = ""
    evaluation_kind: Short = ""
    original: TaskRef | None = None
    max_steps: Whole | None = None
    infeasible_reason: str = ""
    record: Object = {}
    revision: RevisionPart | None = None


class MilestoneLine(Line):
    key: Annotated[str, StringConstraints(pattern=r"^m[0-9]{1,9}$")]
    task: TaskRef
    position: Whole
    name: Short
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    is_ordered: bool
    rule: Object | None = None
    origin: Literal["written", "imported", "proposed"]
    added_by: Name | None = None
    added_at: datetime
    removed_at: datetime | None = None


class EvaluatorLine(Line):
    config_hash: Hash
    name: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    kind: Annotated[str, StringConstraints(max_length=12)]
    version: Annotated[str, StringConstraints(max_length=100)]
    config: Object
    created_at: datetime


class GuidelineLine(Line):
    version: Whole
    text: str
    created_by: Name | None = None
    created_at: datetime


class MemberLine(Line):
    user: Name
    part: Literal["annotator", "adjudicator"]
    left_at: datetime | None = None


class UnblindingLine(Line):
    COLUMNS = {"run": None}

    run: RunRef | None = None
    user: Name
    reason: Short
    at: datetime


class AssignmentPart(Line):
    user: Name
    is_repeat: bool = False
    state: Literal["leased", "submitted", "skipped"]
    leased_until: datetime
    opened_at: datetime
    draft: Object = {}
    draft_saved_at: datetime | None = None
    seconds: Amount = 0.0
    skip_reason: str = ""
    skipped_at: datetime | None = None
    n_skips: Annotated[int, Field(ge=0, le=2**15 - 1)] = 0


class EarlierPart(Line):
    at: datetime
    content: Object


class TickPart(Line):
    milestone: str
    achieved: bool
    step: Whole | None = None
    lost_step: Whole | None = None


class LabelPart(Line):
    id: UUID
    annotator: Name
    is_repeat: bool = False
    success: Literal["success", "failure", "unsure", "not_executable"]
    confidence: Annotated[int, Field(ge=0, le=100)] | None = None
    causes: list[str] = []
    failure_step: Whole | None = None
    rationale: str = ""
    seconds: Amount = 0.0
    guideline: Whole | None = None
    submitted_at: datetime
    extra: Object = {}
    earlier: list[EarlierPart] = []
    """What it said before each change, the oldest first."""
    ticks: list[TickPart] = []


class CommentPart(Line):
    COLUMNS = {"step": "step_index"}

    author: Name
    is_repeat: bool = False
    step: Whole
    text: str
    created_at: datetime


class MessagePart(Line):
    author: Name
    text: str
    proposal: Annotated[str, StringConstraints(max_length=15)] = ""
    created_at: datetime


class DisputePart(Line):
    opened_at: datetime
    order_seed: Large
    version: Whole
    messages: list[MessagePart] = []


class VerdictPart(Line):
    id: UUID
    verdict: Literal["success", "failure", "not_executable"]
    origin: Literal["agreed", "consensus", "adjudicated", "imported"]
    decided_by: Name | None = None
    rationale: str = ""
    decided_at: datetime
    is_authoritative: bool
    record: Object = {}


class NumberedPart(Line):
    """One of several things that were said of a run."""

    number: Whole
    """Names it within its run."""
    replaces: Whole | None = None

    @classmethod
    def of_all(cls, rows: Sequence[Any]) -> list[Self]:
        """The parts of the rows on one run, in their order."""
        numbers = {row.pk: number for number, row in enumerate(rows, start=1)}
        return [
            cls.of(row, number=numbers[row.pk], replaces=numbers.get(row.replaces_id))
            for row in rows
        ]


class TagPart(NumberedPart):
    evaluator_name: Annotated[str, StringConstraints(max_length=100)]
    evaluator: Hash
    error: Literal["fn", "fp"]
    causes: list[str] = []
    repair: Annotated[str, StringConstraints(max_length=20)] = ""
    note: str = ""
    by: Name
    at: datetime
    batch: UUID
    is_undo: bool = False
    is_current: bool


class ItemLine(Line):
    """One run of the study with all that was said of it there; stored whole or not at all."""

    run: RunRef
    position: Whole
    status: Literal["open", "disputed", "settled"]
    assignments: list[AssignmentPart] = []
    labels: list[LabelPart] = []
    comments: list[CommentPart] = []
    dispute: DisputePart | None = None
    verdict: VerdictPart | None = None
    tags: list[TagPart] = []
    unblindings: list[UnblindingLine] = []

    @property
    def judges(self) -> set[str]:
        """Who labelled it or was to, by name."""
        given = {label.annotator for label in self.labels}
        return given | {assignment.user for assignment in self.assignments}
