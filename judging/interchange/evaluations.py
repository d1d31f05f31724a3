"""Evaluations in and out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID, uuid4

from judging.interchange.faults import Fault
from judging.matching.outcome import EvaluatorIdentity
from judging.models import Evaluation, EvaluatorVersion
from runs.links import as_uuid
from runs.models import Run
from runs.records import cost_column, stored_json
from webagent.trajectory.canonical import hashed_json
from webagent.trajectory.records import CheckRecord, EvaluationRecord, EvaluatorRecord

HASH_CHARS = 64


def store_evaluations(*, run: Run, records: Sequence[EvaluationRecord]) -> Iterator[Fault]:
    """Store those that are not here yet; yields those that cannot be.

    Of several by one evaluator the last is current, unless one was here before.
    """
    stored = list(Evaluation.objects.filter(run=run).select_related("evaluator"))
    known = {_said(evaluation_record(row)) for row in stored}
    settled = {row.evaluator_id for row in stored if row.is_current}
    for record in records:
        if _said(record) in known:
            continue
        known.add(_said(record))
        if record.evaluator.kind not in EvaluatorVersion.Kind.values:
            kinds = ", ".join(EvaluatorVersion.Kind.values)
            yield Fault(
                kind="evaluation", id=record.id, field="evaluator.kind", reason=f"none of {kinds}"
            )
            continue
        version = _version(record.evaluator)
        is_current = version.pk not in settled
        if is_current:
            current = Evaluation.objects.filter(run=run, evaluator=version, is_current=True)
            current.update(is_current=False)
        Evaluation.objects.create(
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


def _said(record: EvaluationRecord) -> bytes:
    return hashed_json(record, exclude={"id", "run_id"})


def _columns(record: EvaluationRecord) -> dict[str, Any]:
    extra = record.extra or {}
    details, reason, seconds = (extra.get(key) for key in ("details", "reason", "seconds"))
    stored = stored_json(record)
    checks = {"checks": stored["checks"]} if stored.get("checks") else {}
    return {
        "id": _free_id(record.id),
        "verdict": record.verdict,
        "score": record.score if record.score is not None and math.isfinite(record.score) else None,
        "reason": reason[:200] if isinstance(reason, str) else "",
        "details": (details if isinstance(details, dict) else {}) | checks,
        "rationale": record.rationale or "",
        "cost": cost_column(record.cost),
        "seconds": float(seconds) if isinstance(seconds, int | float) else None,
        "record": stored,
    }


def _version(evaluator: EvaluatorRecord) -> EvaluatorVersion:
    return EvaluatorVersion.objects.get_or_create(
        config_hash=_config_hash(evaluator),
        defaults={
            "name": evaluator.name[:100],
            "kind": evaluator.kind,
            "version": evaluator.version[:100],
            "config": _config(evaluator),
        },
    )[0]


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


def _free_id(record_id: str) -> UUID:
    own = as_uuid(record_id)
    return own if own and not Evaluation.objects.filter(pk=own).exists() else uuid4()
