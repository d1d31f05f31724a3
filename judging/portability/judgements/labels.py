"""Labels in and out, as records and as rows of a table: a few queries a batch."""

import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeGuard
from uuid import UUID

from django.db.models import Model, QuerySet
from django.utils import timezone

from judging.models import Guideline, Label, LabelRevision, MilestoneTick, StepComment, StudyItem
from judging.portability.judgements.columns import KIND, LABEL, MAYBE, RUN, RUN_COLUMN_PATHS, RUN_ID
from judging.studies.imported import Places, study_name
from judging.studies.labels.ticks import read_ticks, written_tick
from runs.models import Run
from runs.storage.links import free_key
from runs.storage.records import MAX_INT, aware
from webagent.trajectory.canonical import hashed_json, plain_json
from webagent.trajectory.intake import InputError, Problem
from webagent.trajectory.verdict_records import AdjudicationRecord, LabelRecord

MAX_CONFIDENCE = 100


@dataclass(slots=True)
class RunLabels:
    """The labels of one run in one study, by what they say and by who gave them."""

    texts: set[bytes] = field(default_factory=set)
    by: set[tuple[int, bool]] = field(default_factory=set)


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
        rows = Label.objects.filter(item__run__among=new, item__study__name=name)
        for label, record in label_records(rows) if new else ():
            of_run = self._of_run[name, label.run]
            of_run.texts.add(content_of(record))
            of_run.by.add((label.annotator_id, label.is_repeat))


def store_label(*, run: Run, record: LabelRecord, places: Places, known: KnownLabels) -> bool:
    """Store a label; False if it is here already. The caller has the labels counted in the end.

    Args:
        places, known: what was looked up before in the same transaction.

    Raises:
        InputError: it cannot be stored.
    """
    of_run, content = known.of(record.study, run), content_of(record)
    if content in of_run.texts:
        return False
    item = places.item(record.study, run)
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
        if not (came_in := label.extra.get(RECORD)):
            continue
        record = LabelRecord.model_validate(came_in)
        label.ticks.all().delete()
        MilestoneTick.objects.bulk_create(_ticks(label, run, record))
        if label.failure_step is not None and label.failure_step >= max(run.n_steps, 1):
            reason = f"names step {label.failure_step}; the run has {run.n_steps} steps, from 0"
            yield Problem(source, f"label of {label.annotator}", "failure_step", reason)


def content_of(record: Record) -> bytes:
    """What a judgement says, whatever it and its run are called."""
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
