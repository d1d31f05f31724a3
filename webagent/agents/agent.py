"""What every agent offers and raises, scripted or not, and how a run with one comes to its end."""

import re
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Protocol, runtime_checkable

from webagent.environment.interface import EnvironmentFailure
from webagent.trajectory.faults import Fault
from webagent.trajectory.live import Decision, Observation, StepResult, Taken
from webagent.trajectory.records import (
    AgentRecord,
    EndReason,
    ErrorOrigin,
    ErrorRecord,
    Json,
    LlmCall,
    Outcome,
)

MAX_STACK_CHARS = 20_000
_ROOT = Path(__file__).parents[2]
_PLACES = re.compile(
    rf'File "(?:[^"]*/site-packages/|[^"]*/python3\.\d+/|{re.escape(str(_ROOT))}/)'
)


class AgentFailure(Exception):
    """The agent could not decide, through no choice of its own: the run ends in an error.

    `decision` holds what it went through until then (its model calls). `kind` names the failure,
    `fault` its class where it is one of the infrastructure; `retriable` says whether another
    attempt may be spared it; None where that is not known.
    """

    def __init__(
        self,
        message: str,
        origin: ErrorOrigin = ErrorOrigin.AGENT,
        *,
        decision: Decision | None = None,
        kind: str | None = None,
        fault: Fault | None = None,
        retriable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.origin = origin
        self.decision = decision or Decision(action=None)
        self.kind = kind
        self.fault = fault
        self.retriable = retriable


class OutOfBudget(AgentFailure):
    """The agent has spent what its run may cost: the run ends as at any other limit."""


class OutOfCompletions(AgentFailure):
    """The agent has asked its model as often as it may in a run: that is a limit, too."""


class Agent(Protocol):
    """One agent for one run: it may remember what it did. Make a new one for the next run."""

    def act(self, observation: Observation) -> Decision:
        """What to do next. Raises AgentFailure (a model's provider is down, say)."""

    def describe(self) -> AgentRecord:
        """Name and configuration, to be kept with the run."""


@runtime_checkable
class Remembering(Protocol):
    """An agent whose memory can be set: what recovery needs of agents that have one.

    An agent without this method is taken for one that remembers nothing.
    """

    def resume_from(self, history: Sequence[Taken]) -> None:
        """From now on exactly these steps lie behind: all else that it remembers is gone.

        Called when its own last steps were undone, and when it goes on after another agent,
        whose steps are then among them. The page is as the last step left it.
        """


@runtime_checkable
class Advisable(Protocol):
    """An agent that can be given tips before it sets out."""

    def advise(self, tips: str) -> None:
        """From now on this text stands in front of it, the same at every step.

        Its description stays what it was: that names where tips come from.
        """


@runtime_checkable
class Limitable(Protocol):
    """An agent whose description can name the step limit that it runs under."""

    def limit_steps(self, max_steps: int) -> None:
        """From now on its description names it; whoever runs the agent keeps it."""


@runtime_checkable
class Informed(Protocol):
    """An agent that may be given web knowledge, and cut it to a budget."""

    def knowledge_given(self) -> Json | None:
        """How much of it the last prompt held, for the run's record; None without any."""


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
    """What the benchmark says of the run; unknown where it says nothing, or no number."""
    if result is not None and result.recorded_reward is None:
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
