"""Adjudications in, reference verdicts out."""

from __future__ import annotations

from django.utils import timezone

from judging.models import ReferenceVerdict, StudyItem
from judging.portability.judgements.label_rows import RECORD
from judging.studies.disputes.services import close_if_complete
from judging.studies.imported import IMPORTED, NOT_ENTERED, Places, study_name
from runs.models import Run
from runs.storage.links import free_key
from runs.storage.records import aware
from webagent.trajectory.bundles import InputError
from webagent.trajectory.canonical import hashed_json, plain_json
from webagent.trajectory.verdict_records import AdjudicationRecord

ORIGIN = "origin"
Origin = ReferenceVerdict.Origin


def store_adjudication(*, run: Run, record: AdjudicationRecord, places: Places) -> None:
    """Store a verdict, if it is not here yet; `settle` follows the last one.

    Raises:
        InputError: it cannot be stored.
    """
    known = ReferenceVerdict.objects.filter(run=run, item__study__name=study_name(record.study))
    if any(_content(adjudication_record(verdict)) == _content(record) for verdict in known):
        return
    item = places.item(record.study, run)
    if item is None:
        raise InputError("study", NOT_ENTERED)
    # What follows from the labels was concluded here; now it is told when and by whom.
    ReferenceVerdict.objects.filter(
        item=item, origin=Origin.AGREED, record={}, verdict=record.verdict
    ).delete()
    if ReferenceVerdict.objects.filter(item=item).exists():
        raise InputError("verdict", "the study has another verdict on this run")
    _store(item, record, places)


def settle(run: Run) -> None:
    """Settle or dispute what has been labelled completely in imported studies, as it would have
    been here.
    """
    items = StudyItem.objects.filter(run=run, study__run_filter__has_key=IMPORTED)
    for item in items.filter(status=StudyItem.Status.OPEN).select_related("study"):
        close_if_complete(item=item, needed=item.study.labels_per_run, now=timezone.now())
        item.save(update_fields=["status"])


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


def _store(item: StudyItem, record: AdjudicationRecord, places: Places) -> None:
    origin = (record.extra or {}).get(ORIGIN)
    # The run's lock makes two studies that settle it take turns.
    run = Run.objects.select_for_update(of=("self",)).get(pk=item.run_id)
    standing = ReferenceVerdict.objects.filter(run=run, is_authoritative=True).exists()
    ReferenceVerdict.objects.create(
        id=free_key(ReferenceVerdict, record.id),
        item=item,
        run=run,
        verdict=record.verdict,
        origin=origin if origin in ReferenceVerdict.Origin.values else Origin.IMPORTED,
        decided_by=places.person(record.by) if record.by else None,
        rationale=record.rationale or "",
        decided_at=aware(record.at) or timezone.now(),
        is_authoritative=not standing,
        run_created_at=run.created_at,
        record=plain_json(record),
    )
    item.status = StudyItem.Status.SETTLED
    item.save(update_fields=["status"])


def _content(record: AdjudicationRecord) -> bytes:
    # Labels have other ids here than in most files.
    return hashed_json(record, exclude={"id", "run_id", "label_ids"})
