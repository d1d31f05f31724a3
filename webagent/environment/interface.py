"""What every environment offers, whatever benchmark, site or world of text stands behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from webagent.trajectory.live import Observation, StepResult
from webagent.trajectory.records import EnvironmentRecord, Json


class Environment(Protocol):
    """One task, ready to be tried once. Every method may raise EnvironmentFailure."""

    def reset(self, seed: int | None) -> Observation:
        """The first observation of a fresh start."""
        ...

    def step(self, action: str) -> StepResult:
        """What an action led to. A bad action is an `error` in the result, not an exception.

        The result may bring the milestones that hold now; else `milestones` is asked.
        """
        ...

    def milestones(self) -> Mapping[str, bool]:
        """Which of the task's milestones hold now; empty if it defines none."""
        ...

    def evidence(self, evaluation: Json | None) -> Json:
        """What the pages show now, for evaluators that score later without them.

        Args:
            evaluation: the task's own specification (WebArena's `eval`), whose `program_html`
                targets are looked up; `pages` in the answer follows their order.
        """
        ...

    def describe(self) -> EnvironmentRecord:
        """The browser and the packages in use."""
        ...

    def close(self) -> None:
        """Leave nothing behind: no browser, no server, no thread. May be called twice."""
        ...


def take_step(environment: Environment, action: str) -> StepResult:
    """What an action led to, with the milestones that hold then, whichever way they are told."""
    result = environment.step(action)
    if result.milestones or not (reached := environment.milestones()):
        return result
    return replace(result, milestones=dict(reached))
