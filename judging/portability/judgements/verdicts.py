"""Verdicts in and out: what evaluators said, and reference verdicts."""

import math
from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef
from django.utils import timezone

from judging.evaluators.matching.outcome import EvaluatorIdentity
from judging.models import Evaluation, EvaluatorVersion, Label, ReferenceVerdict, StudyItem
from judging.portability.judgements.labels import RECORD, content_of
from judging.studies.disputes.services import closing_row, verdict_row
from judging.studies.imported import IMPORTED, Places, study_name
from runs.models import Run
from runs.storage.links import free_key
from runs.storage.records import aware, cost_column
from webagent.trajectory.canonical import hashed_json, plain_json
from webagent.trajectory.intake import InputError
from webagent.trajectory.verdict_records import (
    AdjudicationRecord,
    CheckRecord,
    EvaluationRecord,
    EvaluatorRecord,
)

ORIGIN = "origin"
"""Key in a verdict's `extra`: how it came about."""
Origin = ReferenceVerdict.Origin
HASH_CHARS = 64


@dataclass(slots=True)
class RunEvaluations:
    texts: set[bytes] = field(default_factory=set)
    settled: set[int] = field(default_factory=set)
    """Evaluators with a current verdict."""


class KnownEvaluations:
    """Evaluations of runs, each run and each evaluator looked up once."""

    def __init__(self) -> None:
        self._of_run: dict[UUID, RunEvaluations] = {}
        self._versions: dict[str, EvaluatorVersion] = {}

    def of(self, run: Run) -> RunEvaluations:
        if run.pk not in self._of_run:
            self.load([run.pk])
        return self._of_run[run.pk]

    def load(self, runs: Collection[UUID]) -> None:
        """Look these up, in one query."""
        new = {run for run in runs if run not in self._of_run}
        self._of_run |= {run: RunEvaluations() for run in new}
        rows = Evaluation.objects.filter(run__among=new) if new else ()
        for row in rows and rows.select_related("evaluator"):
            of_run = self._of_run[row.run_id]
            of_run.texts.add(content_of(evaluation_record(row)))
            if row.is_current:
                of_run.settled.add(row.evaluator_id)

    def version(self, evaluator: EvaluatorRecord) -> EvaluatorVersion:
        """The evaluator's row; made if it is new."""
        key = _config_hash(evaluator)
        if key not in self._versions:
            columns = {
                "name": evaluator.name[:100],
                "kind": evaluator.kind,
                "version": evaluator.version[:100],
                "config": _config(evaluator),
            }
            self._versions[key], _is_new = EvaluatorVersion.objects.get_or_create(
                config_hash=key, defaults=columns
            )
        return self._versions[key]


def store_evaluation(
    *, run: Run, record: EvaluationRecord, known: KnownEvaluations, settled: Set[int]
) -> Evaluation | None:
    """Store an evaluation; None if it is here already.

    Args:
        known: what was looked up before in the same transaction.
        settled: evaluators whose current verdict stays so. Of others the last one is current.

    Raises:
        InputError: it cannot be stored.
    """
    of_run, text = known.of(run), content_of(record)
    if text in of_run.texts:
        return None
    of_run.texts.add(text)
    if record.evaluator.kind not in EvaluatorVersion.Kind.values:
        raise InputError("evaluator.kind", f"none of {', '.join(EvaluatorVersion.Kind.values)}")
    version = known.version(record.evaluator)
    is_current = version.pk not in settled
    if is_current and version.pk in of_run.settled:
        current = Evaluation.objects.filter(run=run, evaluator=version, is_current=True)
        current.update(is_current=False)
    of_run.settled.add(version.pk)
    return Evaluation.objects.create(
        run=run, evaluator=version, is_current=is_current, **_columns(record)
    )


def evaluation_record(row: Evaluation) -> EvaluationRecord:
    """The evaluation as it came in, or, if it was made here, as its columns have it."""
    if "evaluator" in row.record:
        return EvaluationRecord.model_validate(row.record | _ids(row))
    version = row.evaluator
    checks = row.details.get("checks") or []
    return EvaluationRecord.model_validate(
        _ids(row)
        | {
            "evaluator": {
                "name": version.name,
                "kind": version.kind,
                "version": version.version,
                "config_hash": version.config_hash,
                "config": version.config,
            },
            "verdict": row.verdict,
            "score": row.score,
            "checks": [CheckRecord.model_validate(check) for check in checks],
            "rationale": row.rationale or None,
            "cost": row.cost,
            "at": row.created_at,
            "extra": {
                "details": {key: row.details[key] for key in row.details if key != "checks"},
                "reason": row.reason,
                "seconds": row.seconds,
            },
        }
    )


def _ids(row: Evaluation) -> dict[str, str]:
    return {"id": str(row.pk), "run_id": str(row.run_id)}


def _columns(record: EvaluationRecord) -> dict[str, Any]:
    extra = record.extra or {}
    details, reason, seconds = (extra.get(key) for key in ("details", "reason", "seconds"))
    stored = plain_json(record)
    checks = {"checks": stored["checks"]} if stored.get("checks") else {}
    return {
        "id": free_key(Evaluation, record.id),
        "verdict": record.verdict,
        "score": record.score if record.score is not None and math.isfinite(record.score) else None,
        "reason": reason[:200] if isinstance(reason, str) else "",
        "details": (details if isinstance(details, dict) else {}) | checks,
        "rationale": record.rationale or "",
        "cost": cost_column(record.cost),
        "seconds": float(seconds) if isinstance(seconds, int | float) else None,
        "record": stored,
    }


def _config(evaluator: EvaluatorRecord) -> dict[str, Any]:
    config = (evaluator.model_extra or {}).get("config")
    return config if isinstance(config, dict) else {}


def _config_hash(evaluator: EvaluatorRecord) -> str:
    """The evaluator's own hash; where there is none that fits, the one that it would have here."""
    if evaluator.config_hash and len(evaluator.config_hash) <= HASH_CHARS:
        return evaluator.config_hash
    return EvaluatorIdentity(
        name=evaluator.name,
        kind=evaluator.kind,
        version=evaluator.version,
        config=_config(evaluator),
    ).config_hash


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
