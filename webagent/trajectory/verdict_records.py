"""Records of what evaluators and people said of a run, its failure modes, and hints from it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from pydantic import Field, JsonValue

from webagent.trajectory.records import BlobRecord, Id, Json, Record, Sha256
from webagent.trajectory.values import Moment, Money


class HintJobRecord(Record):
    """The piece of work that wrote a hint, and who said that its source succeeded."""

    id: Id
    model: str
    verdict: str
    """Who said so, by the key of the installation that wrote the file."""
    verdict_name: str
    verdict_rule: str = ""
    wording: dict[str, str] | None = None
    """Name and parts of other prompts than the project's own; null where those were used."""


class HintRecord(Record):
    """A text for agents, written by a model from one successful run. It tells a way to succeed."""

    id: Id
    run_id: Id
    level: Literal["concrete", "abstract", "insights"]
    text: str
    job: HintJobRecord
    further_runs: tuple[Id, ...] = ()
    """Other runs of the same task that it was written from too."""
    model: str
    """As its provider called it."""
    prompt_version: str
    prompt_hash: Sha256
    asks: int = Field(ge=1)
    """How often the model was asked until the text passed the checks."""
    faults: tuple[tuple[str, ...], ...] = ()
    """What was wrong with the texts before."""
    input_tokens: int = Field(ge=0)
    output_tokens: int = Field(ge=0)
    cost: Money | None = None
    seconds: float = Field(ge=0)
    at: Moment | None = None


class EvaluatorRecord(Record):
    name: str
    kind: str
    version: str
    config_hash: str | None = None


class CheckRecord(Record):
    name: str
    verdict: str
    expected: JsonValue | None = None
    actual: JsonValue | None = None
    message: str | None = None


class EvaluationRecord(Record):
    """One evaluator's verdict on one run. `error` is never a failure of the agent."""

    id: Id
    run_id: Id
    evaluator: EvaluatorRecord
    verdict: Literal["passed", "failed", "error", "not_applicable"]
    score: float | None = None
    scale: str | None = None
    checks: tuple[CheckRecord, ...] = ()
    rationale: str | None = None
    raw: BlobRecord | None = None
    cost: Money | None = None
    at: Moment | None = None
    extra: Json | None = None


class LabelComment(Record):
    text: str
    step: int | None = None
    at: Moment | None = None


class LabelRecord(Record):
    """One person's judgement of one run."""

    id: Id
    run_id: Id
    annotator: str
    success: Literal["success", "failure", "unsure", "not_executable"]
    side_effect: str | None = None
    optimality: int | str | None = None
    looping: str | None = None
    failure_step: int | None = None
    failure_types: tuple[str, ...] = ()
    confidence: int | None = None
    comments: tuple[LabelComment, ...] = ()
    rationale: str | None = None
    study: str | None = None
    guideline_version: int | None = None
    seconds: float | None = None
    at: Moment | None = None
    protocol: str | None = None
    raw: Json | None = None
    extra: Json | None = None


class AdjudicationRecord(Record):
    """The reference verdict of one run, and who settled it why."""

    id: Id
    run_id: Id
    label_ids: tuple[Id, ...]
    verdict: Literal["success", "failure", "not_executable"]
    rationale: str | None = None
    study: str | None = None
    by: str | None = None
    at: Moment | None = None
    extra: Json | None = None


SAID: Mapping[str, type[Record]] = {
    "evaluations": EvaluationRecord,
    "labels": LabelRecord,
    "adjudications": AdjudicationRecord,
    "hints": HintRecord,
}
"""What is said of a run or written from it, as a bundle calls it; a file of lines for each."""


class Mode(StrEnum):
    """What a failure looks like. A run may show several, or none of these."""

    REPETITIVE = "repetitive"
    EARLY_STOP = "early_stop"
    INVALID_ACTION = "invalid_action"
    PLAN_ERROR = "plan_error"
    MISREAD_OBSERVATION = "misread_observation"
    MAX_STEPS = "max_steps"
    ENVIRONMENT = "environment"
    """Not the agent's doing: a run that shows it counts for none of the others."""


class Side(StrEnum):
    """Where it went wrong: in carrying out what was rightly intended, or in what was intended."""

    OPERATION = "operation"
    REASONING = "reasoning"
    BOTH = "both"


OF_THE_AGENT = tuple(mode for mode in Mode if mode is not Mode.ENVIRONMENT)
