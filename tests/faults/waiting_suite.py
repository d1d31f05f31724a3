"""A suite of one task without a browser: a room in which every action takes a moment.

Each look makes another picture, so that every step writes files of its own. It never ends by
itself.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from PIL import Image

from webagent.environment.browser import BrowserSettings
from webagent.trajectory.live import Observation, StepResult
from webagent.trajectory.records import EnvironmentRecord, Json, TaskRecord, TaskSetRecord, TextPart

TASK = "waiting.room"
GOAL = "Wait."
SECONDS_VARIABLE = "WAITING_STEP_S"


class WaitingRoom:
    """Nothing happens in it."""

    def __init__(self) -> None:
        self._seconds = float(os.environ.get(SECONDS_VARIABLE, "0.2"))

    def reset(self, seed: int | None) -> Observation:
        return _look()

    def step(self, action: str) -> StepResult:
        time.sleep(self._seconds)
        return StepResult(observation=_look(), reward=0.0, terminated=False, truncated=False)

    def milestones(self) -> Mapping[str, bool]:
        return {}

    def evidence(self, evaluation: Json | None) -> Json:
        return {}

    def describe(self) -> EnvironmentRecord:
        return EnvironmentRecord(packages=("a room in which one waits",))

    def close(self) -> None:
        """Nothing is open."""


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
    return TaskRecord(
        id=task_name,
        task_set=TaskSetRecord(name="waiting", version="1"),
        external_id=task_name,
        goal=(TextPart(text=GOAL),),
    )


def task_names() -> tuple[str, ...]:
    return (TASK,)
