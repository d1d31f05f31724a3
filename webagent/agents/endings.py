"""How a run comes to its end, and what each kind of fault makes of it."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from webagent.agents.agent import AgentFailure, OutOfBudget, OutOfCompletions
from webagent.environment.interface import EnvironmentFailure
from webagent.trajectory.faults import Fault
from webagent.trajectory.live import Decision, StepResult
from webagent.trajectory.records import EndReason, ErrorOrigin, ErrorRecord, Json, LlmCall, Outcome

MAX_STACK_CHARS = 20_000
_ROOT = Path(__file__).parents[2]
_PLACES = re.compile(
    rf'File "(?:[^"]*/site-packages/|[^"]*/python3\.\d+/|{re.escape(str(_ROOT))}/)'
)


@dataclass(frozen=True, slots=True)
class RunEnd:
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

    def __init__(self, ending: RunEnd, decision: Decision | None = None) -> None:
        super().__init__(ending.reason)
        self.ending = ending
        self.decision = decision or Decision(action=None)


CANCELLED = RunEnd(Outcome.INCOMPLETE, EndReason.CANCELLED)


def claim(result: StepResult | None) -> Outcome:
    """What the benchmark says of the run; unknown where it never says anything."""
    if result is not None and not result.scored:
        return Outcome.UNKNOWN
    return Outcome.SUCCESS if result is not None and result.reward > 0 else Outcome.FAILURE


def environment_failed(failure: EnvironmentFailure) -> RunEnd:
    """The ending of a run whose environment failed: an error, never a failure of the agent."""
    return RunEnd(
        Outcome.ERROR,
        EndReason.EXCEPTION,
        _error(failure, ErrorOrigin.ENVIRONMENT, failure.fault),
        retriable=failure.retriable,
        retry_after_s=failure.retry_after_s,
    )


def agent_failed(failure: AgentFailure, result: StepResult | None) -> RunEnd:
    """The ending of a run whose agent could not decide; at the end of its means it has failed."""
    if isinstance(failure, OutOfBudget):
        return RunEnd(claim(result), EndReason.COST_LIMIT)
    if isinstance(failure, OutOfCompletions):
        return RunEnd(claim(result), EndReason.MESSAGE_LIMIT)
    return RunEnd(
        Outcome.ERROR,
        EndReason.EXCEPTION,
        _error(failure, failure.origin, failure.fault),
        error_kind=failure.kind,
        retriable=failure.retriable,
    )


def errored(error: Exception, origin: ErrorOrigin) -> RunEnd:
    """The ending of a run that an exception broke."""
    fault = Fault.HARNESS if origin is ErrorOrigin.HARNESS else None
    return RunEnd(Outcome.ERROR, EndReason.EXCEPTION, _error(error, origin, fault))


def _error(error: Exception, origin: ErrorOrigin, fault: Fault | None) -> ErrorRecord:
    # Where this machine keeps its files is nobody's business who reads the run.
    stack = _PLACES.sub('File "', "".join(traceback.format_exception(error)))
    return ErrorRecord(
        message=str(error) or type(error).__name__,
        stack=stack[-MAX_STACK_CHARS:],
        origin=origin,
        fault=fault,
    )


@dataclass(slots=True)
class Spending:
    """Sums over every call, those of other agents and of abandoned branches included.

    A call whose price is not known adds nothing to the money; `unpriced` counts such calls, but
    not those of which nothing came.
    """

    max_tokens: int | None = None
    max_cost: Decimal | None = None
    calls: list[LlmCall] = field(default_factory=list)
    tokens: int = 0
    cost: Decimal = Decimal(0)
    unpriced: int = 0

    def add(self, calls: Iterable[LlmCall]) -> None:
        """Count these calls too."""
        for call in calls:
            self.calls.append(call)
            self.tokens += (call.input_tokens or 0) + (call.output_tokens or 0)
            if call.cost is not None:
                self.cost += call.cost
            elif call.input_tokens:
                self.unpriced += 1

    @property
    def end(self) -> EndReason | None:
        """The limit that is used up; None as long as there is something left."""
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            return EndReason.TOKEN_LIMIT
        if self.max_cost is not None and self.cost >= self.max_cost:
            return EndReason.COST_LIMIT
        return None

    def summary(self) -> Json | None:
        """The limits for the run's record; None where there are none."""
        limits: Json = {}
        if self.max_tokens is not None:
            limits["max_tokens"] = self.max_tokens
        if self.max_cost is not None:
            limits["max_cost"] = str(self.max_cost)
            if self.unpriced:
                limits["calls_without_a_price"] = self.unpriced
        return limits or None
