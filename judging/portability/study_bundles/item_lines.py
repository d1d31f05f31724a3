"""The runs of a study as lines, each with all that people said of it there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

from django.db.models import Prefetch, QuerySet

from judging.models import (
    CauseTag,
    Evaluation,
    FailureCauseTag,
    FailureReview,
    Label,
    Study,
    StudyItem,
)
from judging.portability.study_bundles.records import (
    AssignmentPart,
    AttachmentLine,
    CommentPart,
    DisputePart,
    EarlierPart,
    EvaluationLine,
    FailureTagLine,
    FailureTagPart,
    ItemLine,
    LabelPart,
    MessagePart,
    ReviewLine,
    ReviewPart,
    RunRef,
    TagPart,
    TickPart,
    UnblindingLine,
    VerdictPart,
)
from judging.portability.study_bundles.row_lines import (
    AT_ONCE,
    RUN_PARTS,
    TaskLines,
    as_line,
    name_of,
    place_in,
    renamed_fields,
    run_ref,
    task_ref,
)
from runs.models import Attachment, Run
from runs.storage.records import EVALUATION_ROLE


class ItemLines:
    """The items of one study."""

    def __init__(self, study: Study, tasks: TaskLines) -> None:
        self._study = study
        self._tasks = tasks
        self._guidelines = dict(study.guidelines.values_list("pk", "version"))

    def lines(self) -> Iterator[ItemLine]:
        """One line a run, in the order of the study."""
        labels = Label.objects.select_related("annotator", "guideline").prefetch_related(
            "revisions", "ticks"
        )
        labels = labels.order_by("submitted_at", "pk")
        tags = CauseTag.objects.select_related("evaluator", "by").order_by("at", "pk")
        items = (
            StudyItem.objects.filter(study=self._study)
            .select_related("run", "verdict__decided_by", "dispute")
            .defer(*(f"run__{name}" for name in RUN_PARTS))
            .prefetch_related(
                "assignments__user",
                "comments__author",
                "dispute__messages__author",
                "unblindings__user",
                Prefetch("labels", labels),
                Prefetch("cause_tags", tags),
            )
            .order_by("position", "run")
        )
        return map(self._line, items.iterator(AT_ONCE))

    def _line(self, item: StudyItem) -> ItemLine:
        assigned = sorted(
            item.assignments.all(), key=lambda row: (row.user.username, row.is_repeat)
        )
        comments = sorted(
            item.comments.all(), key=lambda row: (row.step_index, row.created_at, row.pk)
        )
        seen = sorted(item.unblindings.all(), key=lambda row: row.user.username)
        return as_line(
            ItemLine,
            item,
            run=run_ref(item.run),
            assignments=[
                as_line(
                    AssignmentPart, row, user=row.user.username, draft=self._portable(row.draft)
                )
                for row in assigned
            ],
            labels=[self._label(row) for row in item.labels.all()],
            comments=[
                as_line(CommentPart, row, author=row.author.username, step=row.step_index)
                for row in comments
            ],
            dispute=_dispute(item),
            verdict=_verdict(item),
            tags=_tags(item),
            unblindings=[
                as_line(UnblindingLine, row, run=None, user=row.user.username) for row in seen
            ],
        )

    def _label(self, row: Label) -> LabelPart:
        revisions = sorted(row.revisions.all(), key=lambda each: (each.at, each.pk))
        return as_line(
            LabelPart,
            row,
            annotator=row.annotator.username,
            guideline=row.guideline.version if row.guideline else None,
            earlier=[
                EarlierPart(at=each.at, content=self._portable(each.content)) for each in revisions
            ],
            ticks=[
                as_line(
                    TickPart, tick, milestone=self._tasks.milestone_key(tick.milestone_id) or ""
                )
                for tick in row.ticks.all()
            ],
        )

    def _portable(self, content: Mapping[str, Any]) -> dict[str, Any]:
        return renamed_fields(content, self._tasks.milestone_key, self._guidelines.get)


def _dispute(item: StudyItem) -> DisputePart | None:
    row = getattr(item, "dispute", None)
    if row is None:
        return None
    messages = [
        as_line(MessagePart, each, author=each.author.username) for each in row.messages.all()
    ]
    return as_line(DisputePart, row, messages=messages)


def _verdict(item: StudyItem) -> VerdictPart | None:
    row = getattr(item, "verdict", None)
    return as_line(VerdictPart, row, decided_by=name_of(row.decided_by)) if row else None


def _tags(item: StudyItem) -> list[TagPart]:
    rows = list(item.cause_tags.all())
    numbers = {row.pk: number for number, row in enumerate(rows, start=1)}
    return [
        as_line(TagPart, row, evaluator=row.evaluator.config_hash, **place_in(numbers, row))
        for row in rows
    ]


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
