"""A house that is told in words, as a suite of one task: no browser, no page, no address.

It reports its milestones by `milestones()` alone, and one of them can be lost: what is taken can
be put down again.
"""

import ast
from collections.abc import Mapping
from datetime import UTC, datetime

from tests.webagent.made_up import Stage, task_of
from webagent.environment.browser import BrowserSettings
from webagent.environment.interface import EnvironmentFailure
from webagent.trajectory.live import ActionOutcome, Observation, StepResult
from webagent.trajectory.records import EnvironmentRecord, TaskRecord

TASK = "house.lamp"
GOAL = "Bring the lamp to the cellar and light it."
WAYS = {("hall", "down"): "cellar", ("cellar", "up"): "hall"}


class TextHouse(Stage):
    """Go, take, drop, light: one word and one thing at a time."""

    def __init__(self) -> None:
        self._room: str | None = None
        self._holds = self._is_lit = False

    def reset(self, seed: int | None) -> Observation:
        self._room, self._holds, self._is_lit = "hall", False, False
        return self._look()

    def step(self, action: str) -> StepResult:
        if self._room is None:
            raise EnvironmentFailure("the house is closed")
        error = self._act(action)
        done = all(self.milestones().values())
        return StepResult(
            observation=self._look(error),
            reward=float(done),
            terminated=done,
            error=error,
            outcomes=(ActionOutcome(executed=True, error=error),),
        )

    def milestones(self) -> Mapping[str, bool]:
        return {
            "The lamp is in hand": self._holds,
            "The cellar is reached": self._room == "cellar",
            "The lamp burns in the cellar": self._is_lit and self._room == "cellar",
        }

    def describe(self) -> EnvironmentRecord:
        return EnvironmentRecord(packages=("a house of words",))

    def close(self) -> None:
        self._room = None

    def _act(self, action: str) -> str | None:
        """Do it; what is wrong with it, if anything."""
        word, _, rest = action.partition("(")
        what = ast.literal_eval(rest.removesuffix(")"))
        here = str(self._room)
        if word == "go" and (here, what) in WAYS:
            self._room = WAYS[here, what]
        elif word == "take" and what == "lamp" and not self._holds:
            self._holds = True
        elif word == "drop" and what == "lamp" and self._holds:
            self._holds = self._is_lit = False
        elif word == "light" and what == "lamp" and self._holds:
            self._is_lit = True
        else:
            return f"You cannot {word} {what} here."
        return None

    def _look(self, error: str | None = None) -> Observation:
        lamp = "You hold a lamp." if self._holds else "A lamp stands on the floor."
        return Observation(
            at=datetime.now(UTC),
            goal=GOAL,
            url="",
            title="",
            tabs=(),
            screenshot=b"",
            width=0,
            height=0,
            axtree=f"You are in the {self._room}. {lamp}",
            last_error=error,
        )


def environment(task_name: str, settings: BrowserSettings, step_timeout_s: float) -> TextHouse:
    return TextHouse()


def task_record(task_name: str) -> TaskRecord:
    return task_of(task_name, GOAL)


def task_names() -> tuple[str, ...]:
    return (TASK,)
