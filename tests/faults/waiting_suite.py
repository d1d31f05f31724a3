"""A suite of one task without a browser: a room in which every action takes a moment.

Each look makes another picture, so that every step writes files of its own. It never ends by
itself.
"""

import io
import os
import time
from datetime import UTC, datetime

from PIL import Image

from tests.webagent.made_up import Stage, task_of
from webagent.environment.browser import BrowserSettings
from webagent.trajectory.live import Observation, StepResult
from webagent.trajectory.records import EnvironmentRecord, TaskRecord

TASK = "waiting.room"
GOAL = "Wait."
SECONDS_VARIABLE = "WAITING_STEP_S"


class WaitingRoom(Stage):
    """Nothing happens in it."""

    def __init__(self) -> None:
        self._seconds = float(os.environ.get(SECONDS_VARIABLE, "0.2"))

    def reset(self, seed: int | None) -> Observation:
        return _look()

    def step(self, action: str) -> StepResult:
        time.sleep(self._seconds)
        return StepResult(observation=_look(), reward=0.0, terminated=False, truncated=False)

    def describe(self) -> EnvironmentRecord:
        return EnvironmentRecord(packages=("a room in which one waits",))


def _look() -> Observation:
    file = io.BytesIO()
    Image.frombytes("RGB", (4, 4), os.urandom(48)).save(file, "PNG")
    return Observation(
        at=datetime.now(UTC),
        goal=GOAL,
        url="http://room.local/",
        title="A room",
        screenshot=file.getvalue(),
        width=4,
        height=4,
        axtree="RootWebArea 'A room'",
    )


def environment(task_name: str, settings: BrowserSettings, step_timeout_s: float) -> WaitingRoom:
    return WaitingRoom()


def task_record(task_name: str) -> TaskRecord:
    return task_of(task_name, GOAL)


def task_names() -> tuple[str, ...]:
    return (TASK,)
