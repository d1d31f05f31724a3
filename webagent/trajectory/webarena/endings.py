"""How a WebArena run ended: the log's verdict, the agent's own stop, or the harness's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webagent.trajectory.records import EndReason, ErrorOrigin, ErrorRecord, Outcome, StepRecord
from webagent.trajectory.webarena.actions import early_stop, stop_answer
from webagent.trajectory.webarena.logs import Logged

_MAX_STEPS = "Reach max steps"
_MODEL_ERRORS = "OpenAI Error"
_ENVIRONMENT_WORDS = ("playwright", "net::", "Timeout", "Target closed", "Page.")
_MESSAGE_CHARS = 100_000


@dataclass(frozen=True, kw_only=True)
class Ending:
    outcome: Outcome
    end_reason: EndReason
    reward: float | None = None
    error: ErrorRecord | None = None


def ending(steps: Sequence[StepRecord], logged: Logged | None) -> Ending:
    """How the run ended. A logged exception is an error, whatever came before it."""
    if logged is not None and logged.verdict is None and logged.error:
        error = ErrorRecord(
            message=logged.error[:_MESSAGE_CHARS],
            stack=(logged.stack or "")[:_MESSAGE_CHARS] or None,
            origin=_origin(logged),
        )
        return Ending(outcome=Outcome.ERROR, end_reason=EndReason.EXCEPTION, error=error)
    reason = _reason(steps)
    if logged is None or logged.verdict is None:
        ended = reason is not EndReason.UNKNOWN
        outcome = Outcome.UNKNOWN if ended else Outcome.INCOMPLETE
        return Ending(outcome=outcome, end_reason=reason if ended else EndReason.KILLED)
    # The log tells passed and failed by whether the score is 1, and knows no other scores.
    passed = logged.verdict == "PASS"
    return Ending(
        outcome=Outcome.SUCCESS if passed else Outcome.FAILURE,
        end_reason=reason,
        reward=1.0 if passed else 0.0,
    )


def _reason(steps: Sequence[StepRecord]) -> EndReason:
    last = steps[-1].actions[-1] if steps and steps[-1].actions else None
    if why := early_stop(last):
        return EndReason.MAX_STEPS if why.startswith(_MAX_STEPS) else EndReason.HARNESS_LOOP_STOP
    if stop_answer(last) is not None or (last is not None and last.name == "stop"):
        return EndReason.AGENT_STOPPED
    return EndReason.UNKNOWN


def _origin(logged: Logged) -> ErrorOrigin:
    if logged.error_kind == _MODEL_ERRORS:
        return ErrorOrigin.MODEL
    said = f"{logged.error or ''}\n{logged.stack or ''}"
    if any(word in said for word in _ENVIRONMENT_WORDS):
        return ErrorOrigin.ENVIRONMENT
    return ErrorOrigin.UNKNOWN
