"""The loop of one run: look, decide, act, until something ends it."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from webagent.agents.agent import Agent, AgentFailure, OutOfBudget
from webagent.environment.failures import EnvironmentFailure
from webagent.environment.interface import Environment
from webagent.trajectory.live import Decision, Observation, StepResult
from webagent.trajectory.recording import Recorder
from webagent.trajectory.records import EndReason, ErrorOrigin, ErrorRecord, LlmCall, Outcome

T = TypeVar("T")

MAX_STACK_CHARS = 20_000
_ROOT = Path(__file__).parents[2]
_PLACES = re.compile(
    rf'File "(?:[^"]*/site-packages/|[^"]*/python3\.\d+/|{re.escape(str(_ROOT))}/)'
)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run came to its end. `error_kind` and `retriable` are the failure's own."""

    outcome: Outcome
    reason: EndReason
    error: ErrorRecord | None = None
    error_kind: str | None = None
    retriable: bool | None = None


class _Broken(Exception):
    """The run cannot go on; carries how it ends, and what the agent did until then."""

    def __init__(self, ending: Ending, decision: Decision | None = None) -> None:
        super().__init__(ending.reason)
        self.ending = ending
        self.decision = decision or Decision(action=None)


CANCELLED = Ending(Outcome.INCOMPLETE, EndReason.CANCELLED)


class Episode:
    """One agent's try at one task. What the sink or `should_stop` raises is raised."""

    def __init__(
        self,
        environment: Environment,
        agent: Agent,
        recorder: Recorder,
        *,
        max_steps: int,
        time_limit_s: float | None,
        should_stop: Callable[[], bool],
        let_through: tuple[type[Exception], ...],
    ) -> None:
        self._environment = environment
        self._agent = agent
        self._recorder = recorder
        self._max_steps = max_steps
        self._deadline = None if time_limit_s is None else time.monotonic() + time_limit_s
        self._should_stop = should_stop
        self._let_through = let_through
        self.first: Observation | None = None
        self.last: Observation | None = None
        self.result: StepResult | None = None
        self.llm_calls: list[LlmCall] = []
        self.claimed_success: bool | None = None

    def play(self, seed: int) -> Ending:
        """How it ended, with every step recorded."""
        try:
            self.first = self.last = self._ask(lambda: self._environment.reset(seed))
            ending = self._interrupted()
            while ending is None:
                ending = self._step(self.last)
        except _Broken as broken:
            ending = broken.ending
        return ending

    def _step(self, before: Observation) -> Ending | None:
        """Take one step; the ending if it was the last."""
        started_at = datetime.now(UTC)
        result: StepResult | None = None
        ending: Ending | None = None
        executed = True
        try:
            decision = self._decide(before)
        except _Broken as broken:
            decision, ending = broken.decision, broken.ending
        acted_at = datetime.now(UTC)
        if ending is None:
            ending = self._interrupted()
            executed = ending is None
        if ending is None and (action := decision.action) is not None:
            try:
                result = self._ask(lambda: self._environment.step(action))
            except _Broken as broken:
                ending = broken.ending
            else:
                self.result, self.last = result, result.observation
        ending = ending or self._ending(decision, result)
        self._recorder.step(
            before,
            decision,
            result,
            started_at=started_at,
            acted_at=acted_at,
            ended_at=datetime.now(UTC),
            final=ending is not None,
            executed=executed,
        )
        return ending

    def _ending(self, decision: Decision, result: StepResult | None) -> Ending | None:
        outcome = _claim(result or self.result)
        if result is not None and result.terminated:
            gave_up = result.gave_up
            return Ending(outcome, EndReason.AGENT_GAVE_UP if gave_up else EndReason.TASK_ENDED)
        if decision.gave_up:
            return Ending(outcome, EndReason.AGENT_GAVE_UP)
        if decision.finished or result is None:
            return Ending(outcome, EndReason.AGENT_STOPPED)
        if result.truncated or self._recorder.steps + 1 >= self._max_steps:
            return Ending(outcome, EndReason.MAX_STEPS)
        return self._interrupted()

    def _interrupted(self) -> Ending | None:
        if self._should_stop():
            return CANCELLED
        if self._deadline is not None and time.monotonic() >= self._deadline:
            return Ending(_claim(self.result), EndReason.TIME_LIMIT)
        return None

    def _decide(self, before: Observation) -> Decision:
        try:
            decision = self._agent.act(before)
        except self._let_through:
            raise
        except AgentFailure as failure:
            self.llm_calls += failure.decision.llm_calls
            raise _Broken(self._agent_failed(failure), failure.decision) from failure
        except Exception as error:  # an agent may be anybody's code: its crash ends its run only
            raise _Broken(_errored(error, ErrorOrigin.AGENT)) from error
        self.llm_calls += decision.llm_calls
        if decision.finished or decision.gave_up:
            self.claimed_success = decision.finished
        return decision

    def _agent_failed(self, failure: AgentFailure) -> Ending:
        if isinstance(failure, OutOfBudget):
            return Ending(_claim(self.result), EndReason.COST_LIMIT)
        return Ending(
            Outcome.ERROR,
            EndReason.EXCEPTION,
            _error(failure, failure.origin),
            error_kind=failure.kind,
            retriable=failure.retriable,
        )

    def _ask(self, call: Callable[[], T]) -> T:
        """What the environment answers, or the ending that its failure makes."""
        try:
            return call()
        except self._let_through:
            raise
        except EnvironmentFailure as failure:
            raise _Broken(environment_failed(failure)) from failure
        except Exception as error:  # a fault of ours must end the run as an error, not stay hidden
            raise _Broken(_errored(error, ErrorOrigin.HARNESS)) from error


def environment_failed(failure: EnvironmentFailure) -> Ending:
    """The ending of a run whose environment failed: an error, never a failure of the agent."""
    return Ending(
        Outcome.ERROR,
        EndReason.EXCEPTION,
        _error(failure, ErrorOrigin.ENVIRONMENT),
        error_kind=failure.kind.value,
        retriable=failure.retriable,
    )


def _claim(result: StepResult | None) -> Outcome:
    """What the benchmark says of the run; unknown where it never says anything."""
    if result is not None and not result.scored:
        return Outcome.UNKNOWN
    return Outcome.SUCCESS if result is not None and result.reward > 0 else Outcome.FAILURE


def _errored(error: Exception, origin: ErrorOrigin) -> Ending:
    return Ending(Outcome.ERROR, EndReason.EXCEPTION, _error(error, origin))


def _error(error: Exception, origin: ErrorOrigin) -> ErrorRecord:
    # Where this machine keeps its files is nobody's business who reads the run.
    stack = _PLACES.sub('File "', "".join(traceback.format_exception(error)))
    return ErrorRecord(
        message=str(error) or type(error).__name__, stack=stack[-MAX_STACK_CHARS:], origin=origin
    )
