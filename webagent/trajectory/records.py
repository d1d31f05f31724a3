"""The neutral records every trajectory is turned into, whatever tool wrote it.

These are the objects of the native interchange format (`docs/format.md`): one JSON object
per line in `tasks.jsonl`, `runs.jsonl`, `steps.jsonl` and so on. Importers produce them, the
recorder of our own agents produces them, `runs` stores them, and exporters write them back.

Conventions: times are timezone-aware UTC datetimes, lengths in seconds, boxes in CSS pixels
as (left, top, width, height), money as decimals, unknown is `None` (never "" or 0) and is
left out of the JSON. Keys that a record does not know are kept and written back.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from webagent.trajectory.faults import Fault
from webagent.trajectory.texts import NAME_CHARS
from webagent.trajectory.values import Moment, Money, total

FORMAT_NAME = "crosscheck-runs"
FORMAT_VERSION = 1

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Id = Annotated[str, StringConstraints(min_length=1, max_length=NAME_CHARS)]
Json = dict[str, JsonValue]


class Record(BaseModel):
    """Base of all records: immutable, keeping keys that it does not know."""

    model_config = ConfigDict(frozen=True, extra="allow", ser_json_inf_nan="null")

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form without unknown (None) values."""
        return self.model_dump(mode="json", exclude_none=True)


class Outcome(StrEnum):
    """What became of the run. An exception is never a failure of the agent."""

    SUCCESS = "success"
    FAILURE = "failure"
    ERROR = "error"
    INCOMPLETE = "incomplete"
    NOT_EXECUTABLE = "not_executable"
    UNKNOWN = "unknown"


class EndReason(StrEnum):
    """Why the run stopped, apart from whether it succeeded."""

    TASK_ENDED = "task_ended"
    AGENT_STOPPED = "agent_stopped"
    AGENT_GAVE_UP = "agent_gave_up"
    MAX_STEPS = "max_steps"
    TIME_LIMIT = "time_limit"
    TOKEN_LIMIT = "token_limit"  # noqa: S105
    COST_LIMIT = "cost_limit"
    MESSAGE_LIMIT = "message_limit"
    HARNESS_LOOP_STOP = "harness_loop_stop"
    RECOVERY_EXHAUSTED = "recovery_exhausted"
    RECOVERY_REFUSED = "recovery_refused"
    REPLAY_DIVERGED = "replay_diverged"
    CANCELLED = "cancelled"
    EXCEPTION = "exception"
    KILLED = "killed"
    NEVER_STARTED = "never_started"
    UNKNOWN = "unknown"


class ErrorOrigin(StrEnum):
    """Who caused an error. Only `agent` may ever count against the agent."""

    AGENT = "agent"
    ENVIRONMENT = "environment"
    MODEL = "model"
    HARNESS = "harness"
    UNKNOWN = "unknown"


_BLAMED = {
    ErrorOrigin.ENVIRONMENT: Fault.ENVIRONMENT_OTHER,
    ErrorOrigin.MODEL: Fault.PROVIDER_OTHER,
    ErrorOrigin.HARNESS: Fault.HARNESS,
}


class StepState(StrEnum):
    """Whether a step still counts: a rollback supersedes steps and replays others."""

    LIVE = "live"
    SUPERSEDED = "superseded"
    REPLAYED = "replayed"


class BlobRecord(Record):
    """A file beside the JSON Lines, named by the hash of its bytes.

    `role` says what it is (screenshot, marked_screenshot, a11y_tree, html, dom, elements,
    screen_text, log, artefact, video, messages, request, response, goal_image, evidence);
    `name` is the path it had in the tool that wrote it.
    """

    sha256: Sha256
    media_type: str
    bytes: int = Field(ge=0)
    role: str
    width: int | None = None
    height: int | None = None
    name: str | None = None


class Gap(Record):
    """Something that is missing or was not understood: said, not hidden."""

    what: str
    where: str
    why: str
    count: int | None = Field(default=None, ge=2)
    """How many are missing alike; one where it is not given."""


class TaskSetRecord(Record):
    name: str
    version: str


class TextPart(Record):
    text: str


class BlobPart(Record):
    blob: BlobRecord


GoalPart = TextPart | BlobPart


class MilestoneRecord(Record):
    """A step on the way to a task's goal. `rule` is how the steps tell it, if they do."""

    name: str
    weight: float = 1.0
    is_ordered: bool = False
    """Counts only once all ordered milestones before it were reached."""
    rule: Json | None = None


class TaskRecord(Record):
    """One instruction. `eval` is the benchmark's own specification, verbatim.

    `eval`, `reference` and `milestones` are sensitive: a blind export leaves them out.
    """

    id: Id
    task_set: TaskSetRecord
    external_id: Id
    sites: tuple[str, ...] = ()
    goal: tuple[GoalPart, ...] = ()
    start_urls: tuple[str, ...] = ()
    intent_template: str | None = None
    seed: int | None = None
    eval: Json | None = None
    reference: JsonValue | None = None
    max_steps: int | None = None
    reference_length: int | None = None
    infeasible_reason: str | None = None
    milestones: tuple[MilestoneRecord, ...] | None = None
    """Those in force when the file was written, in their order."""
    extra: Json | None = None


class SourceRecord(Record):
    """Where the run came from, exactly enough to import it again. No part of its content."""

    format: str
    format_version: str | None = None
    tool: str | None = None
    tool_version: str | None = None
    path: str | None = None
    imported_files: tuple[Sha256, ...] = ()
    importer: str | None = None
    importer_version: str | None = None
    dropped: tuple[Gap, ...] = ()
    """What the importer left out on purpose, because it stands elsewhere or says nothing."""
    redacted: dict[str, int] = {}
    """Secrets that were taken out: kind -> how many."""
    originals: tuple[BlobRecord, ...] = ()
    """The source's files without secrets, named as they lay, for a better importer to read.

    Pictures in them are those that the steps name.
    """


class AgentRecord(Record):
    """The agent's configuration, verbatim and inert."""

    name: str
    version: str | None = None
    config: Json | None = None


class ErrorRecord(Record):
    message: str
    stack: str | None = None
    origin: ErrorOrigin = ErrorOrigin.UNKNOWN
    fault: Fault | None = None
    """What of the infrastructure failed, where it was that."""

    @property
    def blamed(self) -> Fault | None:
        """What of the infrastructure is to blame: as named, or else as far as its origin tells."""
        return self.fault or _BLAMED.get(self.origin)


class Totals(Record):
    """Sums as the tool reported them; what it did not report is None, not zero."""

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: Money | None = None
    currency: str | None = None
    llm_calls: int | None = None
    retries: int | None = None
    seconds: float | None = None


class EnvironmentRecord(Record):
    viewport_width: int | None = None
    viewport_height: int | None = None
    browser: str | None = None
    packages: tuple[str, ...] = ()
    site_retries: int | None = None
    """How often a page of the task's site was loaded again because the site was out of order."""


EventKind = Literal["loop", "false_completion", "rollback", "model_switch", "replay_diverged"]


class EventRecord(Record):
    """A mark on the timeline over steps `first_step`..`last_step` (indices, inclusive)."""

    kind: EventKind
    first_step: int = Field(ge=0)
    last_step: int = Field(ge=0)
    detail: Json | None = None


class StubRecord(Record):
    """The names of a run whose trajectory is not here; what its source leaves open is None.

    By them the trajectory is known once it comes.
    """

    task_set: Id
    task: Id
    agent: Id
    task_set_version: str | None = None
    agent_version: str | None = None
    model: str | None = None
    seed: int | None = None
    trial: int = 1


class RunRecord(Record):
    """One execution of one task by one agent configuration."""

    id: Id
    task_id: Id
    source: SourceRecord
    agent: AgentRecord
    models: tuple[str, ...] = ()
    experiment: str | None = None
    goal: tuple[GoalPart, ...] = ()
    """What this run was told, where it differs from the task's own goal (seeded tasks)."""
    seed: int | None = None
    trial: int = 1
    attempt: int = 1
    retry_of: Id | None = None
    rerun_of: Id | None = None
    superseded_by: Id | None = None
    started_at: Moment | None = None
    ended_at: Moment | None = None
    outcome: Outcome = Outcome.UNKNOWN
    end_reason: EndReason = EndReason.UNKNOWN
    reward: float | None = None
    claimed_success: bool | None = None
    final_answer: str | None = None
    final_url: str | None = None
    infeasible_claim: str | None = None
    error: ErrorRecord | None = None
    totals: Totals = Totals()
    environment: EnvironmentRecord | None = None
    max_steps: int | None = None
    events: tuple[EventRecord, ...] = ()
    evidence: Json | None = None
    """Page evidence captured when the run ended, for scoring it offline later."""
    logs: tuple[BlobRecord, ...] = ()
    videos: tuple[BlobRecord, ...] = ()
    artefacts: tuple[BlobRecord, ...] = ()
    gaps: tuple[Gap, ...] = ()
    stub: StubRecord | None = None
    """Of a run that came without its trajectory: there is nothing but verdicts on it."""
    extra: Json | None = None


class Point(Record):
    x: float
    y: float


class Box(Record):
    """CSS pixels of the screenshot the action was chosen on."""

    x: float
    y: float
    width: float
    height: float

    @property
    def centre(self) -> Point:
        return Point(x=self.x + self.width / 2, y=self.y + self.height / 2)

    def holds(self, point: Point) -> bool:
        """Whether the point lies inside, or on an edge."""
        inside = self.x <= point.x <= self.x + self.width
        return inside and self.y <= point.y <= self.y + self.height


class Size(Record):
    width: float
    height: float


class Target(Record):
    bid: str | None = None
    selector: str | None = None
    xpath: str | None = None
    text: str | None = None
    role: str | None = None
    box: Box | None = None


class ActionRecord(Record):
    """One action: `raw` is what the agent wrote, verbatim; the rest is our reading of it."""

    raw: JsonValue
    dialect: str
    name: str | None = None
    args: tuple[JsonValue, ...] = ()
    named_args: Json | None = None
    target: Target | None = None
    point: Point | None = None
    coordinate_space: Size | None = None
    started_at: Moment | None = None
    ended_at: Moment | None = None
    status: Literal["ok", "error", "unknown"] = "unknown"
    error: str | None = None
    result_text: str | None = None


class TabRecord(Record):
    url: str
    title: str | None = None
    active: bool = False


class ChatMessage(Record):
    role: str
    text: str
    at: Moment | None = None


class Observation(Record):
    """What could be seen at one moment.

    `fingerprint` is equal for looks at the same page in the same state, within one run.
    `screen_text` is the screenshot as an agent was told it that sees nothing else, `elements`
    what stands on it, piece by piece.
    """

    at: Moment | None = None
    url: str | None = None
    title: str | None = None
    tabs: tuple[TabRecord, ...] = ()
    screenshot: BlobRecord | None = None
    marked_screenshot: BlobRecord | None = None
    a11y_tree: BlobRecord | None = None
    html: BlobRecord | None = None
    dom: BlobRecord | None = None
    elements: BlobRecord | None = None
    screen_text: BlobRecord | None = None
    focused: str | None = None
    fingerprint: str | None = None
    chat: tuple[ChatMessage, ...] = ()
    extra: Json | None = None


class LlmCall(Record):
    """One question to a model. `problem` says why its reply was of no use, or why there is none."""

    model: str
    input_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    cost: Money | None = None
    seconds: float | None = None
    request: BlobRecord | None = None
    response: BlobRecord | None = None
    problem: str | None = None


def sums_of(calls: Sequence[LlmCall]) -> dict[str, Any]:
    """What questions to models took together, as `Totals` names it; None for what none tells."""
    names = ("input_tokens", "cached_tokens", "output_tokens", "cost")
    return {name: total(getattr(call, name) for call in calls) for name in names}


class StepRecord(Record):
    """What the agent saw (`before`), did, and caused, at one index.

    `error`s and `reward` belong to the action of this very step. `after` is given only where
    the tool stored an observation of its own, or at the end of the run; elsewhere the state
    after step k is `before` of step k+1. `replays` is the index of the step that this one
    repeated; `write_like` says what its action seems to write (submit, delete, pay, …).
    """

    run_id: Id
    index: int = Field(ge=0)
    source_index: int | None = None
    branch: int = 0
    state: StepState = StepState.LIVE
    replays: int | None = None
    write_like: str | None = None
    before: Observation | None = None
    thought: str | None = None
    thought_parts: Json | None = None
    actions: tuple[ActionRecord, ...] = ()
    after: Observation | None = None
    reward: float | None = None
    terminated: bool | None = None
    truncated: bool | None = None
    messages: tuple[BlobRecord, ...] = ()
    llm_calls: tuple[LlmCall, ...] = ()
    metrics: Json | None = None
    events: tuple[Json, ...] = ()
    started_at: Moment | None = None
    ended_at: Moment | None = None
    seconds: float | None = None
    extra: Json | None = None
