"""Lines of what was said of a study's runs and learned from them; a bundle's files by kind."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from judging.portability.study_bundles.records import (
    EvaluatorLine,
    Finite,
    GuidelineLine,
    Hash,
    ItemLine,
    Line,
    MemberLine,
    MilestoneLine,
    Name,
    NumberedPart,
    Object,
    RunRef,
    Short,
    StudyLine,
    TaskLine,
    TaskRef,
    TaskSetLine,
    UnblindingLine,
    Whole,
)
from webagent.knowledge.entries import LONGEST_TEXT
from webagent.trajectory.formats.native.reader import STUDY_OF_BUNDLE
from webagent.trajectory.records import Sha256
from webagent.trajectory.values import Money

FORMAT = "crosscheck-study"
VERSION = 3
"""1 had no sets of hints and of web knowledge, 2 no tags of why a screenshot-only agent failed."""
FOLDER = STUDY_OF_BUNDLE
HEAD = "bundle.json"

Level = Literal["concrete", "abstract", "insights"]
Key = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Kind = Literal["raw", "summarised"]
LearnedText = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_TEXT)]
Cost = Annotated[Money, Field(ge=0, lt=10**8)]


class EvaluationLine(Line):
    id: UUID
    run: RunRef
    evaluator: Hash
    verdict: Literal["passed", "failed", "error", "not_applicable"]
    score: Finite | None = None
    reason: Short = ""
    details: Object = {}
    rationale: str = ""
    cost: Cost | None = None
    seconds: Finite | None = None
    record: Object = {}
    task: TaskRef | None = None
    is_current: bool
    created_at: datetime


class ReviewPart(NumberedPart):
    decision: Literal["confirmed", "changed", "rejected", "own", "withdrawn"]
    modes: Object = {}
    side: Annotated[str, StringConstraints(max_length=10)] = ""
    note: str = ""
    proposed: Object = {}
    by: Name
    at: datetime
    batch: UUID
    is_current: bool


class ReviewLine(Line):
    """All that people said of how one run failed."""

    run: RunRef
    reviews: list[ReviewPart]


class FailureTagPart(NumberedPart):
    cause: Literal["", "vision", "reasoning", "other"] = ""
    note: str = ""
    proposed: Literal["", "vision", "reasoning", "other"] = ""
    by: Name
    at: datetime
    is_current: bool


class FailureTagLine(Line):
    """All that people said of why one run of a screenshot-only agent failed."""

    run: RunRef
    tags: list[FailureTagPart]


class AttachmentLine(Line):
    """A file that belongs to what an evaluator said."""

    COLUMNS = {"step": "step_index", "sha256": "blob_id", "media_type": "blob.media_type"}

    run: RunRef
    step: Whole | None = None
    name: Annotated[str, StringConstraints(max_length=500)] = ""
    sha256: Sha256
    media_type: Annotated[str, StringConstraints(max_length=100)]


class ChoicePart(Line):
    """The hint that one task is given: named by the work that wrote it, its source and level."""

    COLUMNS = {"job": "hint.job_id", "source": "hint.source", "level": "hint.level"}

    task: TaskRef
    job: UUID
    source: RunRef
    level: Level
    score: Finite
    n_tied: Whole


class HintSetLine(Line):
    """Which hint each of some tasks is given; stored whole or not at all."""

    COLUMNS = {"job": "job_id"}

    key: Key
    job: UUID
    level: Level
    relatedness: Literal["same_task", "same_site_highest", "same_site_lowest", "other_site_lowest"]
    method: Annotated[str, StringConstraints(max_length=100)]
    created_at: datetime
    choices: list[ChoicePart] = []


class LearningPart(Line):
    """The work that wrote a set, as it was when it had ended."""

    id: UUID
    kind: Literal["extract", "summarise"]
    model: Short
    state: Literal["finished", "cancelled", "stopped_by_budget", "failed"]
    params: Object
    report: Object
    estimate: Object
    n_total: Whole | None = None
    n_done: Whole
    n_problems: Whole
    max_cost: Cost | None = None
    spent: Cost
    n_unpriced: Whole
    input_tokens: Count
    output_tokens: Count
    problem: str = ""
    created_by: Name | None = None
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None


class SetRef(Line):
    name: Short
    site: Short
    kind: Kind
    version: Whole


class EntryRef(Line):
    """An entry of another set, by its place there."""

    COLUMNS = {"set": "knowledge_set"}

    set: SetRef
    position: Whole


class SourcePart(Line):
    run: RunRef
    steps: list[Whole]


class EntryPart(Line):
    position: Whole
    intent: LearnedText
    ok: Annotated[str, StringConstraints(max_length=LONGEST_TEXT)] = ""
    ng: LearnedText
    is_enabled: bool
    problem: str = ""
    is_edited: bool
    parents: list[EntryRef] = []
    sources: list[SourcePart] = []


class KnowledgeSetLine(Line):
    """One version of what is known of a site; stored whole or not at all."""

    set: SetRef
    parent: SetRef | None = None
    job: LearningPart | None = None
    model: Short
    wording: Annotated[str, StringConstraints(max_length=100)]
    content_hash: Hash
    frozen_at: datetime | None = None
    created_by: Name | None = None
    created_at: datetime
    entries: list[EntryPart] = []


class Head(Line):
    """`study/bundle.json`: what the file is, and the hash of every other file in `study`."""

    format: str
    version: int
    producer: Object
    files: dict[str, Object]


KINDS: dict[str, type[Line]] = {
    "study.jsonl": StudyLine,
    "task_sets.jsonl": TaskSetLine,
    "tasks.jsonl": TaskLine,
    "milestones.jsonl": MilestoneLine,
    "evaluators.jsonl": EvaluatorLine,
    "guidelines.jsonl": GuidelineLine,
    "members.jsonl": MemberLine,
    "items.jsonl": ItemLine,
    "unblindings.jsonl": UnblindingLine,
    "evaluations.jsonl": EvaluationLine,
    "reviews.jsonl": ReviewLine,
    "failure_tags.jsonl": FailureTagLine,
    "attachments.jsonl": AttachmentLine,
    "hint_sets.jsonl": HintSetLine,
    "knowledge_sets.jsonl": KnowledgeSetLine,
}
"""By the name of their file in `study/`, in the order in which they are written."""
SINCE = {"hint_sets.jsonl": 2, "knowledge_sets.jsonl": 2, "failure_tags.jsonl": 3}
"""The version from which on bundles have a file; all others they had from the first."""
