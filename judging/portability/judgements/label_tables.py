"""Judgements as rows, by column; those of labels and verdicts are what `import_labels` reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from judging.models import Evaluation, Label, ReferenceVerdict, StudyItem
from judging.portability.judgements.evaluations import evaluation_record
from judging.portability.judgements.labels import IS_REPEAT, label_record
from judging.portability.judgements.row_fields import (
    ADJUDICATION,
    CONTENT_HASH,
    KIND,
    LABEL,
    RUN_ID,
    VERDICT,
)
from judging.portability.judgements.verdicts import adjudication_record
from runs.models import Run
from webagent.trajectory.canonical import canonical_json
from webagent.trajectory.records import AdjudicationRecord, EvaluationRecord, LabelRecord

AT_ONCE = 500
LARGE = ("record", "evidence", "goal", "final_answer", "task__record", "task__reference")
"""What rows of judgements do not tell of a run, and can be long."""

Row = dict[str, Any]


def label_rows(items: QuerySet[StudyItem]) -> Iterator[Row]:
    """The labels of these, hidden repeats among them; runs in the studies' order."""
    labels = (
        Label.objects.filter(item__in=items.order_by().values("pk"))
        .select_related("item__study", "item__run__task__task_set", "item__run__agent")
        .select_related("annotator", "guideline")
        .defer(*(f"item__run__{name}" for name in LARGE))
        .prefetch_related("revisions", "ticks__milestone", "item__comments")
        .order_by("item__study", "item__position", "submitted_at", "pk")
    )
    for label in labels.iterator(AT_ONCE):
        said = _plain(label_record(label))
        said["verdict"] = said.pop("success")
        if causes := said.pop("failure_types", None):
            said["causes"] = causes
        said[IS_REPEAT] = label.is_repeat
        yield _row(LABEL, label.item.run, said)


def reference_rows(items: QuerySet[StudyItem]) -> Iterator[Row]:
    """The reference verdicts of these."""
    verdicts = (
        ReferenceVerdict.objects.filter(item__in=items.order_by().values("pk"))
        .select_related("item__study", "run__task__task_set", "run__agent", "decided_by")
        .defer(*(f"run__{name}" for name in LARGE))
        .prefetch_related("item__labels")
        .order_by("item__study", "item__position", "pk")
    )
    for verdict in verdicts.iterator(AT_ONCE):
        said = _plain(adjudication_record(verdict))
        said |= {"origin": verdict.origin, "is_authoritative": verdict.is_authoritative}
        yield _row(ADJUDICATION, verdict.run, said)


def evaluation_rows(runs: QuerySet[Run]) -> Iterator[Row]:
    """All that evaluators said of the runs, superseded verdicts among it."""
    evaluations = (
        Evaluation.objects.filter(run__in=runs.order_by().values("pk"))
        .select_related("run__task__task_set", "run__agent", "evaluator")
        .defer(*(f"run__{name}" for name in LARGE))
        # Of one evaluator's the current one comes last, as it wins on import.
        .order_by("run", "evaluator__config_hash", "is_current", "created_at", "pk")
    )
    for evaluation in evaluations.iterator(AT_ONCE):
        said = _plain(evaluation_record(evaluation))
        by = said.pop("evaluator")
        config = by.get("config")
        said |= {
            "evaluator": by["name"],
            "version": by["version"],
            "evaluator_kind": by["kind"],
            "judge_model": evaluation.evaluator.model or None,
            "config_hash": evaluation.evaluator.config_hash,
            "config": config if isinstance(config, dict) else None,
            "is_current": evaluation.is_current,
            "reason": evaluation.reason or None,
            "seconds": evaluation.seconds,
        }
        yield _row(VERDICT, evaluation.run, said)


def run_rows(runs: QuerySet[Run]) -> Iterator[Row]:
    """The runs themselves."""
    found = (
        runs.select_related("task__task_set", "agent", "experiment")
        .defer("record", "evidence", "goal", "task__record", "task__reference")
        .order_by("pk")
    )
    for run in found.iterator(AT_ONCE):
        yield _of_run(run) | {
            "site": run.task.site or None,
            "agent_version": run.agent.version or None,
            "experiment": run.experiment.name if run.experiment else None,
            "attempt": run.attempt,
            "superseded": run.superseded,
            "outcome": run.outcome or None,
            "end_reason": run.end_reason or None,
            "reward": run.reward,
            "final_answer": run.final_answer,
            "steps": run.n_steps,
            "input_tokens": run.input_tokens,
            "output_tokens": run.output_tokens,
            "cost": None if run.cost is None else str(run.cost),
            "seconds": run.seconds,
            "started_at": run.started_at and run.started_at.isoformat(),
            "ended_at": run.ended_at and run.ended_at.isoformat(),
            "source_format": run.source_format or None,
        }


def _plain(record: LabelRecord | AdjudicationRecord | EvaluationRecord) -> Row:
    said: Row = json.loads(canonical_json(record))
    return said


def _row(kind: str, run: Run, said: Row) -> Row:
    return {KIND: kind} | said | _of_run(run)


def _of_run(run: Run) -> Row:
    return {
        RUN_ID: str(run.pk),
        CONTENT_HASH: run.content_hash,
        "task_set": run.task.task_set.name,
        "task_set_version": run.task.task_set.version or None,
        "task": run.task.external_id,
        "agent": run.agent.name,
        "model": run.agent.model or None,
        "seed": run.seed,
        "trial": run.trial,
    }
