"""Labels as rows of a table: flat reads, a few for each batch, whatever the number of labels."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Model, QuerySet

from judging.models import Label, LabelRevision, MilestoneTick, StepComment, StudyItem
from judging.portability.judgements.columns import KIND, LABEL, MAYBE, RUN, RUN_COLUMN_PATHS, RUN_ID
from judging.portability.judgements.labels import IS_REPEAT, MILESTONES, RECORD, SEEN
from judging.studies.labels.ticks import written_tick
from webagent.trajectory.canonical import canonical_json, utc_text
from webagent.trajectory.verdict_records import LabelRecord

Row = dict[str, Any]
AT_ONCE = 1000


class _Label(NamedTuple):
    """What a row tells of a label; each field is read by the path in `_PATHS`."""

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


def label_rows(items: QuerySet[StudyItem]) -> Iterator[Row]:
    """The labels of these, hidden repeats among them; runs in the studies' order.

    What `label_record` says of each label, beside what tells its run.
    """
    labels = (
        Label.objects.filter(item__in=items.order_by().values("pk"))
        .order_by("item__study", "item__position", "submitted_at", "pk")
        .values_list(*_PATHS, *_RUN_PATHS)
    )
    n_facts, tables = len(_PATHS), _tables_beside(items)
    left = labels.iterator(AT_ONCE)
    while batch := list(islice(left, AT_ONCE)):
        facts = [_Label(*values[:n_facts]) for values in batch]
        beside = _beside(facts, tables)
        for label, values in zip(facts, batch, strict=True):
            row = _told(label, beside)
            row[KIND] = LABEL
            row.update(zip(_RUN_NAMES, values[n_facts:], strict=True))
            for name in _MAYBE:
                row[name] = row[name] or None
            yield row


def _tables_beside(items: QuerySet[StudyItem]) -> set[type[Model]]:
    """Those of the tables beside the labels that hold anything of these items: mostly none."""
    those = items.order_by().values("pk")
    found = {
        LabelRevision: LabelRevision.objects.filter(label__item__in=those),
        MilestoneTick: MilestoneTick.objects.filter(label__item__in=those),
        StepComment: StepComment.objects.filter(item__in=those),
    }
    return {table for table, rows in found.items() if rows.exists()}


def _beside(labels: Sequence[_Label], tables: set[type[Model]]) -> _Beside:
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


def _told(label: _Label, beside: _Beside) -> Row:
    came_in = label.extra.get(RECORD)
    ids = {"id": str(label.id), "run_id": str(label.run)}
    if came_in and label.id not in beside.changed:
        return _of_record(came_in | ids, label)
    extra: Row = {IS_REPEAT: True} if label.is_repeat else {}
    if ticks := beside.ticks.get(label.id):
        extra[MILESTONES] = ticks
    if label.seen:
        extra[SEEN] = label.seen
    told = ids | {
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
    return _of_record(came_in | told, label) if came_in else _as_columns(told, label)


def _of_record(values: Row, label: _Label) -> Row:
    """Of a label that came in, which may hold anything that a record may."""
    record = canonical_json(LabelRecord.model_validate(values))
    return _as_columns(json.loads(record), label)


def _as_columns(told: Row, label: _Label) -> Row:
    told["verdict"] = told.pop("success")
    if causes := told.pop("failure_types", None):
        told["causes"] = causes
    told[IS_REPEAT] = label.is_repeat
    return told
