"""Hints as the runs that they were written from carry them to another installation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Count

from runs.models import Hint, LearningJob, Run
from runs.storage.links import as_uuid
from runs.storage.records import MAX_INT, aware, cost_column, stored_json
from webagent.trajectory.bundles import Problem, RunBundle
from webagent.trajectory.records import HintJobRecord, HintRecord

LONGEST_TEXT = 20_000
LONGEST_SECONDS = 10**9
MAX_ASKS = 2**15 - 1
IMPORTED = "imported"
"""Key in the parameters of a job that was not done here."""


def hint_records(run_ids: Iterable[UUID]) -> Mapping[UUID, list[HintRecord]]:
    """The hints that were written from these runs, by run, in an order of their own making."""
    rows = Hint.objects.filter(source__in=list(run_ids)).select_related("job")
    found: dict[UUID, list[HintRecord]] = {}
    for row in rows.order_by("job", "level"):
        found.setdefault(row.source_id, []).append(_record(row))
    return found


def store_hints(run: Run, bundle: RunBundle) -> list[Problem]:
    """Store what was written from the run; twice is as good as once. Inside a transaction."""
    problems = []
    for record in bundle.hints:
        if reason := _store(run, record):
            problems.append(Problem(bundle.source, f"hint {record.id}", "", reason))
    return problems


def _record(hint: Hint) -> HintRecord:
    job, params = hint.job, hint.job.params
    return HintRecord(
        id=f"{job.pk}/{hint.source_id}/{hint.level}",
        run_id=str(hint.source_id),
        level=hint.level,
        text=hint.text,
        job=HintJobRecord(
            id=str(job.pk),
            model=job.model,
            verdict=params.get("verdict", ""),
            verdict_name=params.get("verdict_name", ""),
            verdict_rule=params.get("verdict_rule", ""),
        ),
        model=hint.model,
        prompt_version=hint.prompt_version,
        prompt_hash=hint.prompt_hash,
        asks=hint.asks,
        faults=hint.faults,
        input_tokens=hint.input_tokens,
        output_tokens=hint.output_tokens,
        cost=hint.cost,
        seconds=hint.seconds,
        at=hint.created_at,
    )


def _store(run: Run, record: HintRecord) -> str:
    """Store one hint; why it cannot be, or nothing."""
    job_id = as_uuid(record.job.id)
    if job_id is None:
        return "its job has no id of ours"
    there = Hint.objects.filter(job=job_id, source=run, level=record.level).first()
    if there is not None:
        return "" if there.text == record.text else "another one is here in its place, which stays"
    if reason := _unfit(record):
        return reason
    job, _ = LearningJob.objects.get_or_create(pk=job_id, defaults=_job_columns(record.job))
    if IMPORTED not in job.params:
        return "its job was done here, and wrote no such hint"
    Hint.objects.create(job=job, source=run, **_columns(record))
    _count(job, run, record)
    return ""


def _unfit(record: HintRecord) -> str:
    """Why it does not fit its columns; empty if it does."""
    if len(record.text) > LONGEST_TEXT:
        return f"longer than {LONGEST_TEXT} characters"
    if max(record.input_tokens, record.output_tokens) > MAX_INT or record.asks > MAX_ASKS:
        return "its numbers are too large"
    return "" if record.seconds < LONGEST_SECONDS else "its time is too long"


def _job_columns(record: HintJobRecord) -> dict[str, Any]:
    said = stored_json(record)
    return {
        "kind": LearningJob.Kind.HINTS,
        "model": said["model"][:200],
        "state": LearningJob.State.FINISHED,
        "params": {
            "runs": [],
            "levels": [],
            "verdict": said["verdict"][:200],
            "verdict_name": said["verdict_name"][:200],
            "verdict_rule": said["verdict_rule"][:2000],
            IMPORTED: True,
        },
    }


def _columns(record: HintRecord) -> dict[str, Any]:
    said = stored_json(record)
    return {
        "level": record.level,
        "text": said["text"],
        "model": said["model"][:200],
        "prompt_version": said["prompt_version"][:20],
        "prompt_hash": said["prompt_hash"],
        "asks": record.asks,
        "faults": said["faults"],
        "input_tokens": record.input_tokens,
        "output_tokens": record.output_tokens,
        "cost": cost_column(record.cost),
        "seconds": record.seconds,
        **({} if record.at is None else {"created_at": aware(record.at)}),
    }


def _count(job: LearningJob, run: Run, record: HintRecord) -> None:
    """Have the job name the run, by which it is hidden, and count the hint."""
    row = LearningJob.objects.select_for_update().get(pk=job.pk)
    for name, value in (("runs", str(run.pk)), ("levels", record.level)):
        if value not in row.params[name]:
            row.params[name].append(value)
    n = row.hints.aggregate(n=Count("pk"))["n"]
    LearningJob.objects.filter(pk=job.pk).update(
        params=row.params, n_total=n, n_done=n, report={"hints": n, "refused": 0}
    )
