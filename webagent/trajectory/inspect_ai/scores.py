"""What a sample's scores, limit and error say of it."""

from __future__ import annotations

from typing import Any

from webagent.trajectory.assembling import PASSED_ABOVE, SCALE, Ending, evaluator, verdict_of
from webagent.trajectory.records import EndReason, ErrorRecord, Outcome
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.values import items, mapping, number, text
from webagent.trajectory.verdict_records import EvaluationRecord

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's own: correct, partly correct, incorrect, no answer."""
_LIMITS = {
    "message": EndReason.MESSAGE_LIMIT,
    "token": EndReason.TOKEN_LIMIT,
    "context": EndReason.TOKEN_LIMIT,
    "cost": EndReason.COST_LIMIT,
    "time": EndReason.TIME_LIMIT,
    "working": EndReason.TIME_LIMIT,
    "operator": EndReason.CANCELLED,
}
_JUDGES = ("model_graded", "model_critique", "judge")


def score_number(value: Any) -> float | None:
    """A score as a number; None for what is none, such as one of several parts."""
    if isinstance(value, str):
        return _LETTERS.get(value)
    return float(value) if isinstance(value, bool) else number(value)


def ending(sample: dict[str, Any], status: str | None) -> Ending:
    """How a sample ended: an error is no failure, and a limit no answer.

    Args:
        status: of the whole log: started, success, cancelled or error.
    """
    error = mapping(sample.get("error"))
    if message := text(error.get("message")):
        record = ErrorRecord(message=message, stack=text(error.get("traceback")))
        return Ending(outcome=Outcome.ERROR, end_reason=EndReason.EXCEPTION, error=record)
    limit = mapping(sample.get("limit")).get("type") or text(sample.get("limit"))
    reason = _LIMITS.get(limit, EndReason.UNKNOWN) if isinstance(limit, str) else None
    values = mapping(sample.get("scores")).values()
    numbers = [score_number(mapping(score).get("value")) for score in values]
    reward = next((n for n in numbers if n is not None), None)
    if reward is None:
        cut = status in ("cancelled", "started") and not values
        return Ending(
            outcome=Outcome.INCOMPLETE if cut else Outcome.UNKNOWN,
            end_reason=reason or (EndReason.CANCELLED if cut else EndReason.UNKNOWN),
        )
    return Ending(
        outcome=Outcome.SUCCESS if reward > PASSED_ABOVE else Outcome.FAILURE,
        end_reason=reason or EndReason.AGENT_STOPPED,
        reward=reward,
    )


def evaluations(
    run_id: str, sample: dict[str, Any], header: dict[str, Any], version: str
) -> tuple[EvaluationRecord, ...]:
    """Each scorer's verdict; one whose value is no single number gives none and says so."""
    known = {
        text(mapping(scorer).get("name")): mapping(scorer)
        for scorer in items(mapping(header.get("eval")).get("scorers"))
    }
    found = []
    for name, score in mapping(sample.get("scores")).items():
        value = mapping(score).get("value")
        points = score_number(value)
        kind = "judge" if any(judge in name for judge in _JUDGES) else "matcher"
        found.append(
            EvaluationRecord(
                id=bounded_name(f"{run_id}-{name}"),
                run_id=run_id,
                evaluator=evaluator(f"inspect {name}", kind, version, known.get(name, {})),
                verdict="not_applicable" if points is None else verdict_of(points > PASSED_ABOVE),
                score=points,
                scale=None if points is None else SCALE,
                rationale=text(mapping(score).get("explanation")),
                extra={
                    "value": value,
                    "answer": mapping(score).get("answer"),
                    "metadata": mapping(score).get("metadata"),
                },
            )
        )
    return tuple(found)
