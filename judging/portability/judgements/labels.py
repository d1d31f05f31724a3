"""Labels in and out."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeGuard
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from judging.models import Guideline, Label, MilestoneTick, StepComment, StudyItem
from judging.studies.imported import NOT_ENTERED, Places, study_name
from judging.studies.labels.ticks import read_ticks, written_tick
from runs.models import Run
from runs.storage.links import free_key
from runs.storage.records import MAX_INT, aware
from webagent.trajectory.bundles import InputError, Problem
from webagent.trajectory.canonical import hashed_json, plain_json
from webagent.trajectory.verdict_records import LabelComment, LabelRecord

RECORD = "record"
"""Key in `Label.extra` for the label as it came in."""
IS_REPEAT, MILESTONES, SEEN = "is_repeat", "milestones", "seen"
MAX_CONFIDENCE = 100


class KnownLabels:
    """Labels of runs in imported studies, each run looked up once."""

    def __init__(self) -> None:
        self._of_run: dict[tuple[str, UUID], RunLabels] = {}

    def of(self, name: str | None, run: Run) -> RunLabels:
        """Those of the run in the study of that name."""
        key = (study_name(name), run.pk)
        if key not in self._of_run:
            self.load(key[0], [run.pk])
        return self._of_run[key]

    def load(self, name: str, runs: Collection[UUID]) -> None:
        """Look these up in the study, at once."""
        new = {run for run in runs if (name, run) not in self._of_run}
        self._of_run |= {(name, run): RunLabels() for run in new}
        rows = whole_labels().filter(item__run__among=new, item__study__name=name)
        for row in rows:
            of_run = self._of_run[name, row.item.run_id]
            of_run.texts.add(_content(label_record(row)))
            of_run.by.add((row.annotator_id, row.is_repeat))


@dataclass(slots=True)
class RunLabels:
    """The labels of one run in one study, by what they say and by who gave them."""

    texts: set[bytes] = field(default_factory=set)
    by: set[tuple[int, bool]] = field(default_factory=set)


def store_label(*, run: Run, record: LabelRecord, places: Places, known: KnownLabels) -> bool:
    """Store a label; False if it is here already. The caller has the labels counted in the end.

    Args:
        places, known: what was looked up before in the same transaction.

    Raises:
        InputError: it cannot be stored.
    """
    of_run, content = known.of(record.study, run), _content(record)
    if content in of_run.texts:
        return False
    item = places.item(record.study, run)
    if item is None:
        raise InputError("study", NOT_ENTERED)
    annotator = places.person(record.annotator)
    is_repeat = bool((record.extra or {}).get(IS_REPEAT))
    if (annotator.pk, is_repeat) in of_run.by:
        raise InputError("annotator", f"{annotator} has another label on this run")
    whose = {"item": item, "is_repeat": is_repeat}
    label = Label.objects.create(**whose, annotator=annotator, **_columns(item, record))
    of_run.texts.add(content)
    of_run.by.add((annotator.pk, is_repeat))
    MilestoneTick.objects.bulk_create(_ticks(label, run, record))
    places.give_part(item.study, annotator)
    StepComment.objects.bulk_create(
        StepComment(**whose, author=annotator, step_index=comment.step, text=comment.text)
        for comment in record.comments
        if _fits(comment.step, MAX_INT)
    )
    places.labelled(item)
    return True


def referred_labels(run: Run, source: str) -> Iterator[Problem]:
    """Tick what imported labels say of milestones, now that the run's task is known.

    Yields labels that name a step which the run does not have; they stay as they are.
    """
    for label in Label.objects.filter(item__run=run, revisions=None).select_related("annotator"):
        came_in = label.extra.get(RECORD)
        if not came_in:
            continue
        record = LabelRecord.model_validate(came_in)
        label.ticks.all().delete()
        MilestoneTick.objects.bulk_create(_ticks(label, run, record))
        if label.failure_step is not None and label.failure_step >= max(run.n_steps, 1):
            reason = f"names step {label.failure_step}; the run has {run.n_steps} steps, from 0"
            yield Problem(source, f"label of {label.annotator}", "failure_step", reason)


def whole_labels() -> QuerySet[Label]:
    """Labels with all that `label_record` reads."""
    rows = Label.objects.select_related("item__study", "annotator", "guideline")
    return rows.prefetch_related("revisions", "ticks__milestone", "item__comments")


def label_record(row: Label) -> LabelRecord:
    """The label as it came in, or, if it was given or changed here, as its columns have it.

    Of `whole_labels`.
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
    if row.seen:
        beside[SEEN] = row.seen
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


def _content(record: LabelRecord) -> bytes:
    return hashed_json(record, exclude={"id", "run_id"})


def _columns(item: StudyItem, record: LabelRecord) -> dict[str, Any]:
    seconds = record.seconds
    return {
        "id": free_key(Label, record.id),
        "success": record.success,
        "confidence": record.confidence if _fits(record.confidence, MAX_CONFIDENCE) else None,
        "causes": list(record.failure_types),
        "failure_step": record.failure_step if _fits(record.failure_step, MAX_INT) else None,
        "rationale": record.rationale or "",
        "seconds": seconds if seconds is not None and math.isfinite(seconds) else 0.0,
        "guideline": _guideline(item, record.guideline_version),
        "submitted_at": aware(record.at) or timezone.now(),
        "extra": {RECORD: plain_json(record)},
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
    if not _fits(version, MAX_INT):
        return None
    return Guideline.objects.filter(study=item.study_id, version=version).first()


def _fits(value: int | None, most: int) -> TypeGuard[int]:
    return value is not None and 0 <= value <= most
