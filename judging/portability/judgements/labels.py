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
from webagent.measures import batched
from webagent.trajectory.canonical import canonical_json, hashed_json, plain_json, utc_text
from webagent.trajectory.intake import InputError, Problem
from webagent.trajectory.records import Record
from webagent.trajectory.verdict_records import LabelRecord

Row = dict[str, Any]
AT_ONCE = 1000
RECORD = "record"
"""Key in `Label.extra` for the label as it came in."""
IS_REPEAT, MILESTONES, SEEN = "is_repeat", "milestones", "seen"


class StoredLabel(NamedTuple):
    """What is read of a label; each field by the path in `_PATHS`."""

    id: UUID
    run: UUID
    item: int
    annotator_id: int
    annotator: str
    is_repeat: bool
    verdict: str
    confidence: int | None
    causes: list[str]
    failure_step: int | None
    rationale: str
    seconds: float
    submitted_at: Any
    seen: str
    extra: Mapping[str, Any]
    study: str
    guideline_version: int | None


_PATHS = (
    *("pk", "item__run_id", "item_id", "annotator_id", "annotator__username", "is_repeat"),
    *("success", "confidence", "causes", "failure_step", "rationale", "seconds", "submitted_at"),
    *("seen", "extra", "item__study__name", "guideline__version"),
)
_RUN_NAMES = tuple(column.name for column in RUN if column.name != RUN_ID)
_RUN_PATHS = tuple(f"item__run__{RUN_COLUMN_PATHS[name]}" for name in _RUN_NAMES)
_MAYBE = tuple(name for name in _RUN_NAMES if name in MAYBE)


class _Beside(NamedTuple):
    """What other tables hold of a batch of labels."""

    changed: set[UUID]
    ticks: Mapping[UUID, list[Row]]
    comments: Mapping[tuple[int, int, bool], list[Row]]
    """By item, author, and whether it was written on a repeat."""


def label_records(labels: QuerySet[Label]) -> Iterator[tuple[StoredLabel, LabelRecord]]:
    """Each label as it came in, or, if it was given or changed here, as its columns have it."""
    for label, said, _beside_it in _read(labels):
        yield label, LabelRecord.model_validate(said)


def label_rows(items: QuerySet[StudyItem]) -> Iterator[Row]:
    """The labels of these, hidden repeats among them; runs in the studies' order.

    What the record says of each label, beside what tells its run.
    """
    labels = Label.objects.filter(item__in=items.order_by().values("pk"))
    ordered = labels.order_by("item__study", "item__position", "submitted_at", "pk")
    for label, said, of_run in _read(ordered, *_RUN_PATHS):
        row = said
        if label.extra.get(RECORD):  # it may hold anything that a record may
            row = json.loads(canonical_json(LabelRecord.model_validate(said)))
        row["verdict"] = row.pop("success")
        if causes := row.pop("failure_types", None):
            row["causes"] = causes
        row |= {IS_REPEAT: label.is_repeat, KIND: LABEL}
        row.update(zip(_RUN_NAMES, of_run, strict=True))
        for name in _MAYBE:
            row[name] = row[name] or None
        yield row


def _read(labels: QuerySet[Label], *paths: str) -> Iterator[tuple[StoredLabel, Row, Sequence[Any]]]:
    """Each label, the values of its record, and what stands at these paths beside it."""
    n_facts, tables = len(_PATHS), None
    for batch in batched(labels.values_list(*_PATHS, *paths).iterator(AT_ONCE), AT_ONCE):
        facts = [StoredLabel(*values[:n_facts]) for values in batch]
        tables = _tables_beside(labels) if tables is None else tables
        beside = _beside(facts, tables)
        for label, values in zip(facts, batch, strict=True):
            yield label, _said(label, beside), values[n_facts:]


def _tables_beside(labels: QuerySet[Label]) -> set[type[Model]]:
    """Those of the tables beside the labels that hold anything of these: mostly none."""
    those = labels.order_by()
    found = {
        LabelRevision: LabelRevision.objects.filter(label__in=those.values("pk")),
        MilestoneTick: MilestoneTick.objects.filter(label__in=those.values("pk")),
        StepComment: StepComment.objects.filter(item__in=those.values("item")),
    }
    return {table for table, rows in found.items() if rows.exists()}


def _beside(labels: Sequence[StoredLabel], tables: set[type[Model]]) -> _Beside:
    ids = [label.id for label in labels] if tables else []
    changed: set[UUID] = set()
    if LabelRevision in tables:
        revisions = LabelRevision.objects.filter(label__among=ids).order_by()
        changed.update(revisions.values_list("label_id", flat=True))
    ticks: dict[UUID, list[Row]] = defaultdict(list)
    if MilestoneTick in tables:
        for tick in MilestoneTick.objects.filter(label__among=ids).select_related("milestone"):
            ticks[tick.label_id].append(dict(sorted(written_tick(tick).items())))
    comments = _comments({label.item for label in labels}) if StepComment in tables else {}
    return _Beside(changed, ticks, comments)


def _comments(items: set[int]) -> Mapping[tuple[int, int, bool], list[Row]]:
    comments: dict[tuple[int, int, bool], list[Row]] = defaultdict(list)
    written = StepComment.objects.filter(item__among=items).order_by("step_index", "pk")
    for item, author, is_repeat, at, step, text in written.values_list(
        "item_id", "author_id", "is_repeat", "created_at", "step_index", "text"
    ):
        comments[item, author, is_repeat].append({"at": utc_text(at), "step": step, "text": text})
    return comments


def _said(label: StoredLabel, beside: _Beside) -> Row:
    """The values of its record."""
    came_in = label.extra.get(RECORD) or {}
    ids = {"id": str(label.id), "run_id": str(label.run)}
    if came_in and label.id not in beside.changed:
        return came_in | ids
    extra: Row = {IS_REPEAT: True} if label.is_repeat else {}
    if ticks := beside.ticks.get(label.id):
        extra[MILESTONES] = ticks
    if label.seen:
        extra[SEEN] = label.seen
    return (
        came_in
        | ids
        | {
            "annotator": label.annotator,
            "success": label.verdict,
            "failure_step": label.failure_step,
            "failure_types": label.causes,
            "confidence": label.confidence,
            "comments": beside.comments.get((label.item, label.annotator_id, label.is_repeat), []),
            "rationale": label.rationale or None,
            "study": label.study,
            "guideline_version": label.guideline_version,
            "seconds": label.seconds,
            "at": utc_text(label.submitted_at),
            "extra": extra or None,
        }
    )


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
