"""The head and the end of a run that is sent while it happens, as records."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from webagent.trajectory.bounds import Bounds
from webagent.trajectory.pushed.schema import AD_HOC_VERSION, Ending, Opening, PushedTask, cleaned
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
)
from webagent.trajectory.redaction import Redactor
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import total

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
        # Two runs that went alike are two all the same.
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
    known: dict[str, Any] = {
        "input_tokens": ending.input_tokens,
        "output_tokens": ending.output_tokens,
        "cost": ending.cost,
    }
    sums = {
        name: total(getattr(call, name) for call in calls) if said is None else said
        for name, said in known.items()
    }
    error = ending.error
    return opened.model_copy(
        update={
            "outcome": ending.outcome,
            "end_reason": ending.end_reason,
            "reward": ending.reward,
            "final_answer": ending.final_answer,
            "final_url": ending.final_url or _last_url(steps),
            "claimed_success": ending.claimed_success,
            "error": ErrorRecord(message=error.message, stack=error.stack, origin=error.origin)
            if error
            else None,
            "evidence": ending.evidence,
            "totals": Totals(**sums, llm_calls=len(calls) or None, seconds=ending.seconds),
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
    redacted = dict(record.source.redacted)
    for kind, n in counts.items():
        redacted[kind] = redacted.get(kind, 0) + n
    source = record.source.model_copy(update={"redacted": redacted})
    return record.model_copy(update={"source": source})


def _last_url(steps: Sequence[StepRecord]) -> str | None:
    seen = (steps[-1].after or steps[-1].before) if steps else None
    return seen.url if seen else None
