"""How a run comes to its end, and what each kind of fault makes of it."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass
from pathlib import Path

from webagent.agents.agent import AgentFailure, OutOfBudget, OutOfCompletions
from webagent.environment.failures import EnvironmentFailure
from webagent.trajectory.faults import Fault
from webagent.trajectory.live import Decision, StepResult
from webagent.trajectory.records import EndReason, ErrorOrigin, ErrorRecord, Outcome

MAX_STACK_CHARS = 20_000
_ROOT = Path(__file__).parents[2]
_PLACES = re.compile(
    rf'File "(?:[^"]*/site-packages/|[^"]*/python3\.\d+/|{re.escape(str(_ROOT))}/)'
)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run came to its end. `error_kind` is the provider's own word for its failure.

    `retry_after_s` is how long the site asks to stay away before the next attempt.
    """

    outcome: Outcome
    reason: EndReason
    error: ErrorRecord | None = None
    error_kind: str | None = None
    retriable: bool | None = None
    retry_after_s: float | None = None


class Broken(Exception):
    """The run cannot go on; carries how it ends, and what the agent did until then."""

    def __init__(self, ending: Ending, decision: Decision | None = None) -> None:
        super().__init__(ending.reason)
        self.ending = ending
        self.decision = decision or Decision(action=None)


CANCELLED = Ending(Outcome.INCOMPLETE, EndReason.CANCELLED)


def claim(result: StepResult | None) -> Outcome:
    """What the benchmark says of the run; unknown where it never says anything."""
    if result is not None and not result.scored:
        return Outcome.UNKNOWN
    return Outcome.SUCCESS if result is not None and result.reward > 0 else Outcome.FAILURE


def environment_failed(failure: EnvironmentFailure) -> Ending:
    """The ending of a run whose environment failed: an error, never a failure of the agent."""
    return Ending(
        Outcome.ERROR,
        EndReason.EXCEPTION,
        _error(failure, ErrorOrigin.ENVIRONMENT, failure.fault),
        retriable=failure.retriable,
        retry_after_s=failure.retry_after_s,
    )


def agent_failed(failure: AgentFailure, result: StepResult | None) -> Ending:
    """The ending of a run whose agent could not decide; at the end of its means it has failed."""
    if isinstance(failure, OutOfBudget):
        return Ending(claim(result), EndReason.COST_LIMIT)
    if isinstance(failure, OutOfCompletions):
        return Ending(claim(result), EndReason.MESSAGE_LIMIT)
    return Ending(
        Outcome.ERROR,
        EndReason.EXCEPTION,
        _error(failure, failure.origin, failure.fault),
        error_kind=failure.kind,
        retriable=failure.retriable,
    )


def errored(error: Exception, origin: ErrorOrigin) -> Ending:
    """The ending of a run that an exception broke."""
    fault = Fault.HARNESS if origin is ErrorOrigin.HARNESS else None
    return Ending(Outcome.ERROR, EndReason.EXCEPTION, _error(error, origin, fault))


def _error(error: Exception, origin: ErrorOrigin, fault: Fault | None) -> ErrorRecord:
    # Where this machine keeps its files is nobody's business who reads the run.
    stack = _PLACES.sub('File "', "".join(traceback.format_exception(error)))
    return ErrorRecord(
        message=str(error) or type(error).__name__,
        stack=stack[-MAX_STACK_CHARS:],
        origin=origin,
        fault=fault,
    )
