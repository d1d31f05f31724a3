"""Labels and reference verdicts in; reference verdicts out."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard
from uuid import UUID

from django.db.models import Exists, F, OuterRef
from django.utils import timezone

from judging.models import Guideline, Label, MilestoneTick, ReferenceVerdict, StepComment, StudyItem
from judging.portability.judgements.label_rows import IS_REPEAT, MILESTONES, RECORD, label_records
from judging.studies.disputes.services import closing_row, verdict_row
from judging.studies.imported import IMPORTED, Places, study_name
from judging.studies.labels.ticks import read_ticks
from runs.models import Run
from runs.storage.links import free_key
from runs.storage.records import MAX_INT, aware
from webagent.trajectory.canonical import hashed_json, plain_json
from webagent.trajectory.intake import InputError, Problem
from webagent.trajectory.verdict_records import AdjudicationRecord, LabelRecord

MAX_CONFIDENCE = 100
ORIGIN = "origin"
"""Key in a verdict's `extra`: how it came about."""
Origin = ReferenceVerdict.Origin


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
            of_run.texts.add(_content(record))
            of_run.by.add((label.annotator_id, label.is_repeat))


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


def store_adjudication(*, run: Run, record: AdjudicationRecord, places: Places) -> None:
    """Store a verdict, if it is not here yet; `settle` follows the last one.

    Raises:
        InputError: it cannot be stored.
    """
    known = ReferenceVerdict.objects.filter(run=run, item__study__name=study_name(record.study))
    content = _verdict_content(record)
    if any(_verdict_content(adjudication_record(verdict)) == content for verdict in known):
        return
    item = places.item(record.study, run)
    # What follows from the labels was concluded here; now it is told when and by whom.
    ReferenceVerdict.objects.filter(
        item=item, origin=Origin.AGREED, record={}, verdict=record.verdict
    ).delete()
    if ReferenceVerdict.objects.filter(item=item).exists():
        raise InputError("verdict", "another verdict on this run is here already")
    _store_verdict(item, record, places)


def settle(run: Run) -> None:
    """Settle or dispute what has been labelled completely in imported studies, as it would have
    been here.
    """
    complete = StudyItem.objects.filter(
        run=run,
        study__run_filter__has_key=IMPORTED,
        status=StudyItem.Status.OPEN,
        n_labels__gte=F("study__labels_per_run"),
    )
    close_items(list(complete))


def closed_before(study: str, runs: Collection[UUID]) -> set[UUID]:
    """Those of the runs that labels closed in the study.

    Where the verdict came as a row, labels may follow it, as they change nothing.
    """
    told = ReferenceVerdict.objects.filter(item=OuterRef("pk")).exclude(record={})
    items = StudyItem.objects.filter(study__name=study, run__among=runs)
    closed = items.exclude(status=StudyItem.Status.OPEN).exclude(Exists(told))
    return set(closed.values_list("run", flat=True))


def close_items(items: Sequence[StudyItem]) -> None:
    """Settle or dispute these, of which all labels are there."""
    said: dict[int, set[str]] = {item.pk: set() for item in items}
    labels = Label.objects.independent().filter(item__in=items)
    for item_id, success in labels.values_list("item", "success"):
        said[item_id].add(success)
    for item in items:
        agreed = next(iter(said[item.pk])) if len(said[item.pk]) == 1 else None
        closing_row(item=item, agreed=agreed, now=timezone.now()).save(force_insert=True)
    StudyItem.objects.bulk_update(items, ["status"])


def adjudication_record(row: ReferenceVerdict) -> AdjudicationRecord:
    """The verdict as it came in, or, if it was given here, as its columns have it.

    Reads the labels of its item; prefetch them.
    """
    labels = sorted(row.item.labels.all(), key=lambda label: label.pk)
    ids = {"id": str(row.pk), "run_id": str(row.run_id)}
    if row.record:
        of_file = {label.extra.get(RECORD, {}).get("id"): str(label.pk) for label in labels}
        label_ids = [of_file.get(old, old) for old in row.record.get("label_ids", ())]
        return AdjudicationRecord.model_validate(row.record | ids | {"label_ids": label_ids})
    return AdjudicationRecord.model_validate(
        ids
        | {
            "label_ids": [str(label.pk) for label in labels if not label.is_repeat],
            "verdict": row.verdict,
            "rationale": row.rationale or None,
            "study": row.item.study.name,
            "by": row.decided_by.username if row.decided_by else None,
            "at": row.decided_at,
            "extra": {ORIGIN: row.origin},
        }
    )


def _store_verdict(item: StudyItem, record: AdjudicationRecord, places: Places) -> None:
    origin = (record.extra or {}).get(ORIGIN)
    row = verdict_row(
        item=item,
        verdict=record.verdict,
        origin=Origin(origin) if origin in Origin.values else Origin.IMPORTED,
        now=aware(record.at) or timezone.now(),
        decided_by=places.person(record.by) if record.by else None,
        rationale=record.rationale or "",
    )
    row.pk, row.record = free_key(ReferenceVerdict, record.id), plain_json(record)
    row.save(force_insert=True)
    item.save(update_fields=["status"])


def _verdict_content(record: AdjudicationRecord) -> bytes:
    # Labels have other ids here than in most files.
    return hashed_json(record, exclude={"id", "run_id", "label_ids"})
