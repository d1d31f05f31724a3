"""Runs that are sent while they happen: what may be sent, and their head and end as records."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    model_validator,
)

from webagent.trajectory.actions import DIALECT
from webagent.trajectory.intake import Bounds, InputError
from webagent.trajectory.records import (
    AgentRecord,
    EndReason,
    ErrorOrigin,
    ErrorRecord,
    Gap,
    Outcome,
    RunRecord,
    SourceRecord,
    StepRecord,
    TaskRecord,
    TaskSetRecord,
    TextPart,
    Totals,
    sums_of,
)
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.texts import bounded_name, storable_json
from webagent.trajectory.values import Moment, Money, first_field_error, not_none

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]
Address = Annotated[str, StringConstraints(max_length=4_000)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Seconds = Annotated[float, Field(ge=0, le=10**9)]
Dollars = Annotated[Money, Field(ge=0, lt=10**8)]
Length = Annotated[float, Field(ge=-(10**7), le=10**7)]
BoxSides = tuple[Length, Length, Length, Length]
MOST_BOXES = 10_000
MOST_CALLS = 200
AD_HOC_SET = "ad hoc"
AD_HOC_VERSION = "1"


class _Sent(BaseModel):
    """Unknown keys are errors: a misspelt one would be lost silently."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class PushedTask(_Sent):
    """Which task is worked on: one that is here, by task set and id, or a new one by its goal."""

    task_set: Name = Field(AD_HOC_SET, description="Name of the task set.")
    version: Name | None = Field(
        None, description="Version of the task set; without it, the newest that has the task."
    )
    id: Name | None = Field(
        None, description="The task's id in its set; without it, it follows from the goal."
    )
    goal: str | None = Field(None, description="The instruction; needed where the task is new.")
    start_urls: tuple[Address, ...] = Field((), max_length=20)
    sites: tuple[Name, ...] = Field((), max_length=20)

    @model_validator(mode="after")
    def _can_be_told(self) -> PushedTask:
        if self.id is None and not (self.goal or "").strip():
            raise ValueError("name the task's id, or its goal")
        return self


class PushedAgent(_Sent):
    """The agent, with everything that makes it behave as it does."""

    name: Name
    version: Name | None = None
    config: dict[str, JsonValue] | None = None


class Opening(_Sent):
    """The head of a run that begins."""

    task: PushedTask
    agent: PushedAgent
    models: tuple[Name, ...] = Field((), max_length=20, description="Language models it asks.")
    experiment: Name | None = Field(None, description="Made if there is none of this name.")
    goal: str | None = Field(
        None, description="What this run was told, where it differs from the task's own goal."
    )
    seed: int | None = Field(None, ge=-(2**63), lt=2**63)
    trial: int = Field(1, ge=1, le=2**31 - 1)
    max_steps: int | None = Field(None, ge=1, le=2**31 - 1)
    started_at: Moment | None = None


class PushedObservation(_Sent):
    """What could be seen at one moment. Pictures are base64, or data URLs of it."""

    url: Address | None = None
    title: str | None = None
    axtree: str | None = Field(None, description="The accessibility tree as text.")
    screenshot: str | None = Field(None, description="PNG, JPEG or WebP in base64.")
    marked_screenshot: str | None = Field(
        None, description="The same with the elements numbered, where the agent saw that."
    )
    boxes: dict[str, BoxSides] = Field(
        {}, max_length=MOST_BOXES, description="x, y, width, height of elements, by BrowserGym id."
    )
    focused: Name | None = None
    at: Moment | None = None


class PushedCall(_Sent):
    """One action as name and arguments, for agents that write no text of BrowserGym's grammar."""

    name: Name
    arguments: dict[str, JsonValue] = {}
    target: str | None = Field(None, max_length=300, description="The element, in words.")
    point: tuple[Length, Length] | None = Field(None, description="Where it clicked, in pixels.")
    error: str | None = None
    result: str | None = None


class PushedStep(_Sent):
    """One step: what was seen, thought, done, and caused."""

    observation: PushedObservation | None = Field(None, description="Before the action.")
    thought: str | None = None
    action: str | None = Field(None, description="What the agent wrote as its action, verbatim.")
    calls: tuple[PushedCall, ...] = Field(
        (), max_length=MOST_CALLS, description="Instead of `action`: structured actions."
    )
    dialect: Name = Field(DIALECT, description="The grammar of `action`, or the tool of `calls`.")
    error: str | None = Field(None, description="What went wrong with the action.")
    after: PushedObservation | None = Field(
        None, description="After the last action only; else the next step shows it."
    )
    reward: float | None = None
    terminated: bool | None = None
    truncated: bool | None = None
    model: Name | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost: Dollars | None = Field(None, description="US dollars.")
    started_at: Moment | None = None
    ended_at: Moment | None = None
    seconds: Seconds | None = None
    extra: dict[str, JsonValue] | None = None

    @model_validator(mode="after")
    def _acts_in_one_way(self) -> PushedStep:
        if self.action is not None and self.calls:
            raise ValueError("give `action` or `calls`, not both")
        return self


class PushedError(_Sent):
    """An exception that ended the run."""

    message: str
    stack: str | None = None
    origin: ErrorOrigin = ErrorOrigin.UNKNOWN


class Ending(_Sent):
    """How the run ended, as the agent's side tells it."""

    outcome: Outcome = Field(
        Outcome.UNKNOWN, description="What the benchmark said; an exception is `error`."
    )
    end_reason: EndReason = EndReason.UNKNOWN
    reward: float | None = None
    final_answer: str | None = None
    final_url: Address | None = None
    claimed_success: bool | None = Field(None, description="What the agent said of itself.")
    error: PushedError | None = None
    evidence: dict[str, JsonValue] | None = Field(
        None, description="What the page showed at the end, for scoring it later."
    )
    input_tokens: Count | None = Field(None, description="Without it, the steps' own are summed.")
    output_tokens: Count | None = None
    cost: Dollars | None = None
    seconds: Seconds | None = None
    ended_at: Moment | None = None


Sent = TypeVar("Sent", bound=BaseModel)


def cleaned(sent: Sent, redactor: Redactor, bounds: Bounds, *, exclude: Any = None) -> Sent:
    """The same without secrets and without what a database cannot hold; long texts are cut.

    Raises:
        InputError: it is nested too deeply.
    """
    words = sent.model_dump(mode="json", exclude=exclude)
    try:
        storable = storable_json(words, bounds.text_chars, bounds.json_depth)
        return type(sent).model_validate(redactor.json(storable))
    except ValidationError as error:
        raise InputError(*first_field_error(error)) from None
    except ValueError as error:
        raise InputError("", str(error)) from None


PUSH_FORMAT = "push"
"""Source format of runs that were sent while they happened."""


def new_task_record(task: PushedTask) -> TaskRecord:
    """A task that is not here yet as a record. Where no id is told, it follows from the words."""
    words = "\n".join((task.goal or "", *task.start_urls))
    external_id = task.id or hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:16]
    version = task.version or AD_HOC_VERSION
    return TaskRecord(
        id=bounded_name(f"{task.task_set}/{version}/{external_id}"),
        task_set=TaskSetRecord(name=task.task_set, version=version),
        external_id=external_id,
        sites=task.sites,
        goal=(TextPart(text=task.goal),) if task.goal else (),
        start_urls=task.start_urls,
    )


def clean_opening(sent: Opening, bounds: Bounds) -> Opening:
    """The head without secrets, such as may be kept. Raises InputError."""
    return cleaned(sent, Redactor(sent.goal or sent.task.goal or ""), bounds)


def opened_record(
    opening: Opening, *, run_id: str, task: TaskRecord, opened_at: datetime
) -> RunRecord:
    """The record of a run that begins now."""
    return RunRecord(
        id=run_id,
        task_id=task.id,
        source=SourceRecord(format=PUSH_FORMAT),
        agent=AgentRecord(
            name=opening.agent.name, version=opening.agent.version, config=opening.agent.config
        ),
        models=opening.models,
        experiment=opening.experiment,
        goal=(TextPart(text=opening.goal),) if opening.goal else (),
        seed=opening.seed,
        trial=opening.trial,
        max_steps=opening.max_steps,
        started_at=opening.started_at or opened_at,
        # Two identical runs are still two runs.
        extra={"pushed": {"run": run_id, "opened_at": opened_at.isoformat()}},
    )


def clean_ending(sent: Ending, goal: str, bounds: Bounds) -> tuple[Ending, Mapping[str, int]]:
    """The end without secrets, and how many were taken out by kind. Raises InputError."""
    redactor = Redactor(goal)
    clean = cleaned(sent, redactor, bounds)
    return clean, {kind: n for kind, n in redactor.counts.items() if n}


def ended_record(
    opened: RunRecord, ending: Ending, steps: Sequence[StepRecord], *, ended_at: datetime
) -> RunRecord:
    """The record of a run that ended as its own side tells it.

    Sums that are not told are those of the steps; what no step tells stays unknown.
    """
    calls = [call for step in steps for call in step.llm_calls]
    told = {name: getattr(ending, name) for name in ("input_tokens", "output_tokens", "cost")}
    error = ending.error
    seen = (steps[-1].after or steps[-1].before) if steps else None
    return opened.model_copy(
        update={
            "outcome": ending.outcome,
            "end_reason": ending.end_reason,
            "reward": ending.reward,
            "final_answer": ending.final_answer,
            "final_url": ending.final_url or (seen.url if seen else None),
            "claimed_success": ending.claimed_success,
            "error": ErrorRecord(message=error.message, stack=error.stack, origin=error.origin)
            if error
            else None,
            "evidence": ending.evidence,
            "totals": Totals(
                **sums_of(calls) | not_none(told),
                llm_calls=len(calls) or None,
                seconds=ending.seconds,
            ),
            "ended_at": ending.ended_at or ended_at,
        }
    )


def silent_record(
    opened: RunRecord,
    steps: Sequence[StepRecord],
    *,
    silent_s: int,
    is_cancelled: bool,
    ended_at: datetime,
) -> RunRecord:
    """The record of a run whose side was not heard of any more: incomplete, nobody's failure."""
    why = f"Nothing was heard of the agent's side for {silent_s} s."
    ending = Ending(
        outcome=Outcome.INCOMPLETE,
        end_reason=EndReason.CANCELLED if is_cancelled else EndReason.KILLED,
    )
    record = ended_record(opened, ending, steps, ended_at=ended_at)
    error = ErrorRecord(message=why, origin=ErrorOrigin.HARNESS)
    gap = Gap(what="steps", where=f"after step {len(steps) - 1}" if steps else "all", why=why)
    return record.model_copy(update={"error": error, "gaps": (*record.gaps, gap)})


def with_redacted(record: RunRecord, counts: Mapping[str, int]) -> RunRecord:
    """The record with so many more secrets taken out."""
    redacted = Counter(record.source.redacted) + Counter(counts)
    source = record.source.model_copy(update={"redacted": dict(redacted)})
    return record.model_copy(update={"source": source})
