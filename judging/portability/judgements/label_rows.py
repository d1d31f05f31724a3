"""Labels as records and as rows of a table: a few queries a batch, whatever their number."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Model, QuerySet

from judging.models import Label, LabelRevision, MilestoneTick, StepComment, StudyItem
from judging.portability.judgements.columns import KIND, LABEL, MAYBE, RUN, RUN_COLUMN_PATHS, RUN_ID
from judging.studies.labels.ticks import written_tick
from webagent.measures import batched
from webagent.trajectory.canonical import canonical_json, utc_text
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
