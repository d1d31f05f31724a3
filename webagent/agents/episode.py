"""The loop of one run: look, decide, act, until something ends it."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

from webagent.agents.agent import (
    CANCELLED,
    Agent,
    AgentFailure,
    Broken,
    Remembering,
    RunEnd,
    Spending,
    agent_failed,
    claim,
    environment_failed,
    errored,
)
from webagent.agents.recovering import Recovery, WayBack
from webagent.agents.replaying import Replay
from webagent.environment.interface import Environment, EnvironmentFailure, take_step
from webagent.trajectory.live import Decision, Observation, StepResult
from webagent.trajectory.recording import Recorder
from webagent.trajectory.records import EndReason, ErrorOrigin

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Episode:
    """One agent's try at one task. What the sink or `should_stop` raises is raised.

    Args:
        max_steps: how often agents may decide; what a replay repeats is nobody's decision.
        spending: what model calls may take in all, and have taken.
        recovery: what gets a stuck agent out; without it the agent is left alone.
    """

    environment: Environment
    agent: Agent
    recorder: Recorder
    seed: int
    max_steps: int
    time_limit_s: float | None
    should_stop: Callable[[], bool]
    let_through: tuple[type[Exception], ...]
    spending: Spending
    recovery: Recovery | None
    first: Observation | None = None
    last: Observation | None = None
    result: StepResult | None = None
    claimed_success: bool | None = None
    _decided: int = 0
    _deadline: float = math.inf

    def play(self) -> RunEnd:
        """How it ended, with every step recorded."""
        if self.time_limit_s is not None:
            self._deadline = time.monotonic() + self.time_limit_s
        try:
            self.first = self.last = first = self._ask(lambda: self.environment.reset(self.seed))
            # Who gives up before doing anything has reached nothing, as the benchmark counts it.
            self.result = StepResult(observation=first, reward=0.0, scored=first.scored)
            ending = self._interrupted()
            while ending is None:
                ending = self._step(self.last)
        except Broken as broken:
            ending = broken.ending
        return ending

    def _step(self, before: Observation) -> RunEnd | None:
        """Take one step; the ending if it was the last."""
        started_at = datetime.now(UTC)
        result: StepResult | None = None
        ending: RunEnd | None = None
        executed = True
        try:
            decision = self._decide(before)
        except Broken as broken:
            decision, ending = broken.decision, broken.ending
        acted_at = datetime.now(UTC)
        if ending is None:
            ending = self._interrupted()
            executed = ending is None
        if ending is None and (action := decision.action) is not None:
            self.recorder.foresee(before)
            try:
                result = self._ask(lambda: take_step(self.environment, action))
            except Broken as broken:
                ending = broken.ending
            else:
                self.result, self.last = result, result.observation
        ending = ending or self._ending(decision, result)
        way = self._judge(before, decision, result, ending)
        if way is not None and way.end is not None:
            ending = RunEnd(claim(self.result), way.end)
        goes_back = ending is None and way is not None and way.keep is not None
        record = self.recorder.step(
            before,
            decision,
            result,
            started_at=started_at,
            acted_at=acted_at,
            ended_at=datetime.now(UTC),
            final=ending is not None or goes_back,
            executed=executed,
        )
        changes_hands = False
        if self.recovery is not None and result is not None:
            changes_hands = self.recovery.took(record, before, decision, result)
        if ending is None and way is not None and way.keep is not None:
            return self._go_back(way)
        if ending is None and changes_hands:
            self._remind()
        return ending

    def _judge(
        self,
        before: Observation,
        decision: Decision,
        result: StepResult | None,
        ending: RunEnd | None,
    ) -> WayBack | None:
        if self.recovery is None or result is None:
            return None
        return self.recovery.judge(
            self.recorder.steps,
            before,
            decision,
            is_over=ending is not None,
            steps_left=self.max_steps - self._decided,
        )

    def _go_back(self, way: WayBack) -> RunEnd | None:
        """Undo what led into the anomaly, and let another agent go on from there."""
        recovery, recorder = self.recovery, self.recorder
        assert recovery is not None  # noqa: S101 (mypy; a way comes from it)
        start, started = recorder.steps, time.monotonic()
        undone = recovery.cut(way, start)
        recorder.give_up(step.index for step in undone)
        replay = Replay(
            environment=self.environment,
            recorder=recorder,
            policy=recovery.policy,
            ask=self._ask,
            interrupted=self._interrupted,
        )
        divergence = None
        try:
            replayed = replay.run(self.seed, recovery.path, undone[0])
            divergence = replayed.divergence
        finally:
            recovery.replayed(
                recorder.steps - start, seconds=time.monotonic() - started, diverged=divergence
            )
        self.last = replayed.seen
        if divergence is not None:
            return RunEnd(claim(self.result), EndReason.REPLAY_DIVERGED)
        if self.result is not None:
            # After a fresh start nothing of what was reached before is left.
            nothing = replace(self.result, observation=replayed.seen, reward=0.0, raw_reward=None)
            self.result = replayed.result or nothing
        if replayed.ending is not None:
            return replayed.ending
        recovery.switch(recorder.steps)
        self._remind()
        return None

    def _remind(self) -> None:
        """Tell the agent that acts next what lies behind."""
        assert self.recovery is not None  # noqa: S101 (mypy)
        agent, history = self.recovery.acting, self.recovery.history
        if isinstance(agent, Remembering):
            self._as_agent(lambda: agent.resume_from(history))

    def _ending(self, decision: Decision, result: StepResult | None) -> RunEnd | None:
        outcome = claim(result or self.result)
        if result is not None and result.terminated:
            gave_up = result.gave_up
            return RunEnd(outcome, EndReason.AGENT_GAVE_UP if gave_up else EndReason.TASK_ENDED)
        if decision.gave_up:
            return RunEnd(outcome, EndReason.AGENT_GAVE_UP)
        if decision.finished or result is None:
            return RunEnd(outcome, EndReason.AGENT_STOPPED)
        if result.truncated or self._decided >= self.max_steps:
            return RunEnd(outcome, EndReason.MAX_STEPS)
        if (spent := self.spending.end) is not None:
            return RunEnd(outcome, spent)
        return self._interrupted()

    def _interrupted(self) -> RunEnd | None:
        if self.should_stop():
            return CANCELLED
        if time.monotonic() >= self._deadline:
            return RunEnd(claim(self.result), EndReason.TIME_LIMIT)
        return None

    def _decide(self, before: Observation) -> Decision:
        self._decided += 1
        agent = self.agent if self.recovery is None else self.recovery.acting
        decision = self._as_agent(lambda: agent.act(before))
        self.spending.add(decision.llm_calls)
        if decision.finished or decision.gave_up:
            self.claimed_success = decision.finished
        return decision

    def _as_agent(self, call: Callable[[], T]) -> T:
        """What the agent answers, or the ending that its failure makes."""
        try:
            return call()
        except self.let_through:
            raise
        except AgentFailure as failure:
            self.spending.add(failure.decision.llm_calls)
            raise Broken(agent_failed(failure, self.result), failure.decision) from failure
        except Exception as error:  # an agent may be anybody's code: its crash ends its run only
            raise Broken(errored(error, ErrorOrigin.AGENT)) from error

    def _ask(self, call: Callable[[], T]) -> T:
        """What the environment answers, or the ending that its failure makes."""
        try:
            return call()
        except self.let_through:
            raise
        except EnvironmentFailure as failure:
            raise Broken(environment_failed(failure)) from failure
        except Exception as error:  # a fault of ours must end the run as an error, not stay hidden
            raise Broken(errored(error, ErrorOrigin.HARNESS)) from error
