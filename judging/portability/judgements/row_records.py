"""What a row says, as the record that imports of runs store: label, verdict or adjudication."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints, ValidationError

from judging.models import EvaluatorVersion
from judging.portability.judgements.row_fields import (
    ADJUDICATION,
    KIND,
    KINDS,
    LABEL,
    OF_ADJUDICATION,
    OF_LABEL,
    SHORT,
    VERDICT,
)
from runs.models import Run
from runs.storage.records import MAX_INT
from webagent.field_errors import first_field_error
from webagent.trajectory.amounts import Money
from webagent.trajectory.records import (
    AdjudicationRecord,
    EvaluationRecord,
    EvaluatorRecord,
    LabelRecord,
)
from webagent.trajectory.texts import bounded_name

IMPORTED = "imported"
"""Version of evaluators whose row gives none."""
AMBIGUOUS = ("0", "1", "2")
VISIBLE = r"^\P{C}+$"
"""Without what a terminal obeys and what turns the order of letters round."""
Name = Annotated[str, StringConstraints(strip_whitespace=True, max_length=150, pattern=VISIBLE)]
ShortName = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=100, pattern=VISIBLE)
]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class RowError(ValueError):
    """The row cannot be stored."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


class _Label(LabelRecord):
    annotator: Name
    confidence: Annotated[int, Field(ge=0, le=100)] | None = None
    failure_step: Annotated[int, Field(ge=0, le=MAX_INT)] | None = None
    seconds: Amount | None = None


class _Evaluator(EvaluatorRecord):
    name: ShortName
    kind: ShortName
    version: ShortName


class _Verdict(EvaluationRecord):
    evaluator: _Evaluator
    score: Annotated[float, Field(allow_inf_nan=False)] | None = None
    cost: Annotated[Money, Field(ge=0, lt=10**8)] | None = None


class _Adjudication(AdjudicationRecord):
    by: Name | None = None


def record_of(
    values: dict[str, Any], run: Run, study: str
) -> LabelRecord | EvaluationRecord | AdjudicationRecord:
    """The row as a record of this run and study.

    Raises:
        RowError: a value is missing or does not fit.
    """
    kind = _kind(values)
    said = {SHORT.get(name, name): value for name, value in values.items()}
    said |= {"run_id": str(run.pk), "study": study}
    if isinstance(word := said.get("verdict"), str):
        said["verdict"] = word.strip().lower()
    try:
        if kind == LABEL:
            return _label(said)
        return _adjudication(said) if kind == ADJUDICATION else _verdict(said)
    except ValidationError as error:
        field, reason = first_field_error(error)
        if VISIBLE in reason:
            reason = "holds characters that cannot be seen"
        short = {"success": "verdict", "failure_types": "causes"}.get(field, field)
        if short == "verdict" and str(values.get("verdict")).strip() in AMBIGUOUS:
            reason += "; files disagree on what numbers mean, so write the word"
        raise RowError(field if field in values else short, reason) from error


def _kind(values: dict[str, Any]) -> str:
    guess = VERDICT if "evaluator" in values else LABEL if "annotator" in values else ""
    if "label_ids" in values:
        guess = ADJUDICATION
    kind = str(values.get(KIND, guess)).strip()
    if kind not in KINDS:
        raise RowError(KIND, f"is none of {', '.join(KINDS)}")
    return kind


def _label(said: dict[str, Any]) -> LabelRecord:
    said.setdefault("success", said.get("verdict"))
    said.setdefault("id", bounded_name(f"{said['run_id']}-{said.get('annotator')}"))
    return _Label.model_validate(_only(said, OF_LABEL - {"verdict"}))


def _adjudication(said: dict[str, Any]) -> AdjudicationRecord:
    said.setdefault("label_ids", ())
    said.setdefault("id", bounded_name(f"{said['run_id']}-verdict"))
    return _Adjudication.model_validate(_only(said, OF_ADJUDICATION))


def _verdict(said: dict[str, Any]) -> EvaluationRecord:
    named = said.get("evaluator")
    if not isinstance(named, dict):
        said["evaluator"] = {
            "name": named,
            "version": said.get("version", IMPORTED),
            "kind": said.get("evaluator_kind", EvaluatorVersion.Kind.JUDGE.value),
            **_configured(said),
        }
    beside = said.get("extra", {})
    if "seconds" in said and isinstance(beside, dict):
        said["extra"] = beside | {"seconds": _seconds(said["seconds"])}
    said.setdefault("id", bounded_name(f"{said['run_id']}-{named}"))
    # What the evaluator was told or said lies in a file that a table does not carry.
    return _Verdict.model_validate(_only(said, set(EvaluationRecord.model_fields) - {"raw"}))


def _configured(said: dict[str, Any]) -> dict[str, Any]:
    """The evaluator's configuration, as a table of ours has it; else that it is not known."""
    if "config_hash" in said:
        config = said.get("config")
        return {"config_hash": said["config_hash"]} | ({"config": config} if config else {})
    model = said.get("judge_model")
    return {"config": {"imported_from": "labels"} | ({"model": model} if model else {})}


def _seconds(value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise RowError("seconds", "is no time in seconds")
    return seconds


def _only(said: dict[str, Any], fields: set[str]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if name in fields}
