"""Labels in and out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID, uuid4

from django.utils import timezone

from judging.interchange.faults import Fault
from judging.interchange.studies import (
    NOT_ENTERED,
    imported_item,
    person,
    study_name,
)
from judging.models import (
    Guideline,
    Label,
    MilestoneTick,
    StepComment,
    StudyItem,
    StudyMember,
)
from judging.ticks import read_ticks, written_tick
from runs.links import as_uuid
from runs.models import Run
from runs.records import MAX_INT, aware, stored_json
from webagent.trajectory.canonical import hashed_json
from webagent.trajectory.records import LabelComment, LabelRecord

RECORD = "record"
"""Key in `Label.extra` for the label as it came in."""
IS_REPEAT, MILESTONES = "is_repeat", "milestones"
MAX_CONFIDENCE = 100
MAX_LABELS_PER_RUN = 5


def store_labels(*, run: Run, records: Sequence[LabelRecord]) -> Iterator[Fault]:
    """Store labels that are not here yet; yields those that cannot be."""
    for record in records:
        if _said(record) in _known(run, record):
            continue
        item = imported_item(record.study, run)
        if item is None:
            yield Fault(kind="label", id=record.id, field="study", reason=NOT_ENTERED)
            continue
        annotator = person(record.annotator)
        is_repeat = bool((record.extra or {}).get(IS_REPEAT))
        if Label.objects.filter(item=item, annotator=annotator, is_repeat=is_repeat).exists():
            reason = f"{annotator} has another label on this run"
            yield Fault(kind="label", id=record.id, field="annotator", reason=reason)
            continue
        label = Label.objects.create(
            item=item, annotator=annotator, is_repeat=is_repeat, **_columns(item, record)
        )
        MilestoneTick.objects.bulk_create(_ticks(label, run, record))
        StudyMember.objects.get_or_create(
            study=item.study, user=annotator, defaults={"part": StudyMember.Part.ANNOTATOR}
        )
        StepComment.objects.bulk_create(
            StepComment(
                item=item,
                author=annotator,
                is_repeat=is_repeat,
                step_index=comment.step,
                text=comment.text,
            )
            for comment in record.comments
            if comment.step is not None and 0 <= comment.step <= MAX_INT
        )
        _count(item)


def label_record(row: Label) -> LabelRecord:
    """The label as it came in, or, if it was given or changed here, as its columns have it.

    Reads the item's comments, the label's revisions and its ticks; prefetch all.
    """
    ids = {"id": str(row.pk), "run_id": str(row.item.run_id)}
    came_in = row.extra.get(RECORD)
    if came_in and not row.revisions.all():
        return LabelRecord.model_validate(came_in | ids)
    comments = [
        LabelComment(text=comment.text, step=comment.step_index, at=comment.created_at)
        for comment in sorted(row.item.comments.all(), key=lambda c: (c.step_index, c.pk))
        if (comment.author_id, comment.is_repeat) == (row.annotator_id, row.is_repeat)
    ]
    beside: dict[str, Any] = {IS_REPEAT: True} if row.is_repeat else {}
    if ticks := [written_tick(tick) for tick in row.ticks.all()]:
        beside[MILESTONES] = ticks
    return LabelRecord.model_validate(
        (came_in or {})
        | ids
        | {
            "annotator": row.annotator.username,
            "success": row.success,
            "failure_step": row.failure_step,
            "failure_types": row.causes,
            "confidence": row.confidence,
            "comments": comments,
            "rationale": row.rationale or None,
            "study": row.item.study.name,
            "guideline_version": row.guideline.version if row.guideline else None,
            "seconds": row.seconds,
            "at": row.submitted_at,
            "extra": beside or None,
        }
    )


def _said(record: LabelRecord) -> bytes:
    return hashed_json(record, exclude={"id", "run_id"})


def _known(run: Run, record: LabelRecord) -> set[bytes]:
    """What has been said of the run in the study that the record names."""
    rows = Label.objects.filter(item__run=run, item__study__name=study_name(record.study))
    return {_said(label_record(row)) for row in rows.select_related("item__study", "annotator")}


def _columns(item: StudyItem, record: LabelRecord) -> dict[str, Any]:
    seconds = record.seconds
    return {
        "id": _free_id(record.id),
        "success": record.success,
        "confidence": record.confidence
        if record.confidence is not None and 0 <= record.confidence <= MAX_CONFIDENCE
        else None,
        "causes": list(record.failure_types),
        "failure_step": record.failure_step
        if record.failure_step is not None and 0 <= record.failure_step <= MAX_INT
        else None,
        "rationale": record.rationale or "",
        "seconds": seconds if seconds is not None and math.isfinite(seconds) else 0.0,
        "guideline": _guideline(item, record.guideline_version),
        "submitted_at": aware(record.at) or timezone.now(),
        "extra": {RECORD: stored_json(record)},
    }


def _ticks(label: Label, run: Run, record: LabelRecord) -> Iterator[MilestoneTick]:
    """What the record says of milestones that the run's task has; the rest stays in the record."""
    said = (record.extra or {}).get(MILESTONES)
    by_name = {row.name: row for row in run.task.milestones.in_force()} if said else {}
    for name, tick in read_ticks(said).items():
        if name in by_name:
            tick.label, tick.milestone = label, by_name[name]
            yield tick


def _guideline(item: StudyItem, version: int | None) -> Guideline | None:
    if version is None or not 0 <= version <= MAX_INT:
        return None
    return Guideline.objects.filter(study=item.study_id, version=version).first()


def _count(item: StudyItem) -> None:
    """Bring the item's count of labels up to date, and the protocol with it."""
    item.n_labels = Label.objects.independent().filter(item=item).count()
    item.save(update_fields=["n_labels"])
    study = item.study
    if item.n_labels > study.labels_per_run:
        study.labels_per_run = min(item.n_labels, MAX_LABELS_PER_RUN)
        study.save(update_fields=["labels_per_run"])


def _free_id(record_id: str) -> UUID:
    own = as_uuid(record_id)
    return own if own and not Label.objects.filter(pk=own).exists() else uuid4()
