"""Parts of a study file: what is run, learned and judged, what the paper had there, its figures;
the fields that all parts are made of, and the error that names one.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal, Self

from django.utils.translation import gettext as _
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    StringConstraints,
    Tag,
    model_validator,
)

from webagent.knowledge.entries import Level, Relatedness
from webagent.recovery.retry_policy import PolicyBody, RecoveryPolicy

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


def not_found(kind: str, name: str) -> str:
    """That there is none of the name, in words."""
    return _("%(kind)s not found: %(name)s") % {"kind": kind, "name": name}


class Part(BaseModel):
    """A table of the file. What it does not know is an error, lest a misspelt field be ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def shape(value: object) -> str:
    """Whether a value that may be either is a table, so that errors are of what was meant."""
    return "table" if isinstance(value, dict | BaseModel) else "plain"


def doubled_in(keys: list[str]) -> str | None:
    return next((key for place, key in enumerate(keys) if key in keys[:place]), None)


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
    levels: tuple[Level, ...] = ()
    relatednesses: tuple[Relatedness, ...] = ()
    """Of hints: each level with each relatedness."""

    @model_validator(mode="after")
    def _is_detector(self) -> Self:
        RecoveryPolicy.model_validate(dict(self.detector))
        return self


PolicyChoice = Annotated[
    Annotated[Short, Tag("plain")] | Annotated[PolicyBody, Tag("table")], Discriminator(shape)
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
    trials: Annotated[int, Field(ge=1, le=100)] | None = None
    """Of each task; none: as many as the file's arms have."""
    paper: PaperArm = PaperArm()

    @property
    def learns_from(self) -> set[str]:
        """Where its knowledge and hints come from: a `learning` of the file, or what is stored."""
        knowledge, hints = self.knowledge, self.hints
        return {*([knowledge.set] if knowledge else []), *([hints.source] if hints else [])}

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

    `labels` (labels, verdicts, adjudications), `splits` of their tasks and `causes` are files
    beside the study file. The sample is drawn by its seed.
    """

    name: Short = ""
    arms: tuple[Key, ...] = ()
    study: Short = ""
    labels: tuple[Path, ...] = ()
    splits: Path | None = None
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
