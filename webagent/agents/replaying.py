"""Doing recorded steps once more, and noticing when the pages are not the same."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from webagent.agents.agent import Broken, RunEnd
from webagent.agents.recovering import Divergence, PathStep, WhyAstray
from webagent.environment.interface import Environment, take_step
from webagent.recovery.retry_policy import RecoveryPolicy
from webagent.trajectory.live import Decision, Observation, StepResult
from webagent.trajectory.recording import Recorder, recorded_actions

T = TypeVar("T")


class Ask(Protocol):
    """Calls the environment; raises Broken where it fails."""

    def __call__(self, call: Callable[[], T], /) -> T: ...


@dataclass(frozen=True, slots=True)
class Replayed:
    """Where a replay came to. `result` is that of its last step; None if it had none.

    `ending`: it was interrupted.
    """

    seen: Observation
    result: StepResult | None
    ending: RunEnd | None = None
    divergence: Divergence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Repeats steps from the start, looking at every page before it acts on it."""

    environment: Environment
    recorder: Recorder
    policy: RecoveryPolicy
    ask: Ask
    interrupted: Callable[[], RunEnd | None]

    def run(self, seed: int, steps: Sequence[PathStep], landing: PathStep) -> Replayed:
        """Start anew, repeat the steps, and stop on the page that `landing` had been taken on.

        Raises:
            Broken: the environment failed.
        """
        seen = self.ask(lambda: self.environment.reset(seed))
        result: StepResult | None = None
        for past in (*steps, landing):
            if (ending := self.interrupted()) is not None:
                return Replayed(seen, result, ending=ending)
            seen, why = self._look(seen, past, is_acted_on=past is not landing)
            if why is not None:
                # A step without an action shows people the page that was not expected.
                self._record(seen, past, None, acts=False)
                return self._astray(seen, result, past, why)
            if past is landing:
                break
            result = self._repeat(seen, past)
            seen = result.observation
            if result.terminated or result.truncated:
                return self._astray(seen, result, past, "ended")
        return Replayed(seen, result)

    def _look(
        self, seen: Observation, past: PathStep, *, is_acted_on: bool
    ) -> tuple[Observation, WhyAstray | None]:
        """The page once it is as it was, or as it stays, with what is different."""
        expected = past.taken.before
        if seen.goal != expected.goal:
            return seen, "goal"
        tries = 0
        while seen.fingerprint != expected.fingerprint:
            if tries == self.policy.settle_tries:
                return seen, "page"
            tries += 1
            waited = self.ask(lambda: self.environment.step(f"noop({self.policy.settle_ms})"))
            seen = waited.observation
            if waited.terminated:
                return seen, "ended"
        if is_acted_on and _targets(past.action, seen) != _targets(past.action, expected):
            return seen, "target"
        return seen, None

    def _repeat(self, seen: Observation, past: PathStep) -> StepResult:
        started_at = datetime.now(UTC)
        try:
            result = self.ask(lambda: take_step(self.environment, past.action))
        except Broken:
            self._record(seen, past, None, started_at=started_at, final=True)
            raise
        over = result.terminated or result.truncated
        self._record(seen, past, result, started_at=started_at, final=over)
        return result

    def _record(
        self,
        seen: Observation,
        past: PathStep,
        result: StepResult | None,
        *,
        acts: bool = True,
        started_at: datetime | None = None,
        final: bool = False,
    ) -> None:
        now = datetime.now(UTC)
        self.recorder.step(
            seen,
            Decision(action=past.action if acts else None),
            result,
            started_at=started_at or now,
            acted_at=started_at or now,
            ended_at=now,
            final=final,
            replays=past.index,
        )

    def _astray(
        self, seen: Observation, result: StepResult | None, past: PathStep, why: WhyAstray
    ) -> Replayed:
        step = self.recorder.steps - 1
        divergence = Divergence(step, past.index, why, past.taken.before, seen)
        return Replayed(seen, result, divergence=divergence)


def _targets(action: str, seen: Observation) -> list[tuple[str | None, str | None]]:
    """Role and text of what the action is aimed at, on this page."""
    targets = (call.target for call in recorded_actions(action, seen, ()))
    return [(target.role, target.text) for target in targets if target is not None]
