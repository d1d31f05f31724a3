"""What was said of runs whatever the study, as lines: by evaluators, and of how they failed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

from django.db.models import QuerySet

from judging.models import Evaluation, FailureCauseTag, FailureReview
from judging.portability.study_bundles.lines_of_rows import AT_ONCE, RUN_PARTS, as_line, place_in
from judging.portability.study_bundles.naming import run_ref, task_ref
from judging.portability.study_bundles.records import (
    AttachmentLine,
    EvaluationLine,
    FailureTagLine,
    FailureTagPart,
    ReviewLine,
    ReviewPart,
    RunRef,
)
from runs.models import Attachment, Run
from runs.storage.records import EVALUATION_ROLE

P = TypeVar("P", ReviewPart, FailureTagPart)


def evaluation_lines(run_ids: QuerySet[Run, Any]) -> Iterator[EvaluationLine]:
    """What evaluators said of the runs."""
    rows = (
        Evaluation.objects.filter(run__in=run_ids)
        .select_related("run", "evaluator", "task__task_set")
        .defer(*(f"run__{name}" for name in RUN_PARTS))
        .order_by("run_id", "evaluator__config_hash", "created_at", "pk")
    )
    for row in rows.iterator(AT_ONCE):
        yield as_line(
            EvaluationLine,
            row,
            run=run_ref(row.run),
            evaluator=row.evaluator.config_hash,
            task=task_ref(row.task) if row.task else None,
        )


def review_lines(run_ids: QuerySet[Run, Any]) -> Iterator[ReviewLine]:
    """What people said of how the runs failed, one line a run."""
    for run, reviews in _said_of_failures(FailureReview, ReviewPart, run_ids):
        yield ReviewLine(run=run, reviews=reviews)


def failure_tag_lines(run_ids: QuerySet[Run, Any]) -> Iterator[FailureTagLine]:
    """What people said of why runs of a screenshot-only agent failed, one line a run."""
    for run, tags in _said_of_failures(FailureCauseTag, FailureTagPart, run_ids):
        yield FailureTagLine(run=run, tags=tags)


def _said_of_failures(
    model: type[FailureReview | FailureCauseTag], kind: type[P], run_ids: QuerySet[Run, Any]
) -> Iterator[tuple[RunRef, list[P]]]:
    rows = model._default_manager.filter(run__in=run_ids).select_related("run", "by")
    rows = rows.defer(*(f"run__{name}" for name in RUN_PARTS))
    ordered = rows.order_by("run_id", "at", "pk").iterator(AT_ONCE)
    for run, of_run in groupby(ordered, key=attrgetter("run")):
        own = list(of_run)
        numbers = {row.pk: number for number, row in enumerate(own, start=1)}
        yield run_ref(run), [as_line(kind, row, **place_in(numbers, row)) for row in own]


def attachment_lines(run_ids: QuerySet[Run, Any]) -> Iterator[AttachmentLine]:
    """The files that belong to what evaluators said."""
    rows = Attachment.objects.filter(run__in=run_ids, role=EVALUATION_ROLE)
    for row in rows.select_related("run", "blob").order_by(
        "run_id", "step_index", "name", "blob_id"
    ):
        yield AttachmentLine(
            run=run_ref(row.run),
            step=row.step_index,
            name=row.name,
            sha256=row.blob_id,
            media_type=row.blob.media_type,
        )
