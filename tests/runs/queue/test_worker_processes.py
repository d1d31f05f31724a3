"""A worker's process that stands still ends itself; one that works is left alone."""

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from celery.signals import task_postrun, task_prerun
from django.db import OperationalError

from runs.launching.running import LAST_RESORT_S, execute_next_run
from runs.models import WorkerBeat
from runs.operations.health.checks import longest_wait_s
from runs.operations.processes import worker_processes
from runs.operations.processes.supervisor import STOP_LIMIT_S
from runs.operations.processes.worker_processes import SignsOfLife, UnderWay
from runs.queue.sweeping import sweep

pytestmark = pytest.mark.django_db


class Clock:
    """A clock that never steps, but when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(worker_processes, "time", clock)
    return clock


@pytest.fixture
def neglected(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Queues whose work nobody takes, to be filled by the test."""
    found: set[str] = set()
    monkeypatch.setattr(worker_processes, "neglected", lambda: found)
    return found


def why_end(under_way: UnderWay, *queues: str) -> Callable[[], str]:
    return SignsOfLife("w@a", list(queues or ["default"]), under_way)._why_end


def test_room_is_counted_from_when_a_task_ended(clock: Clock):
    under_way = UnderWay(2)
    clock.now += 10
    assert (under_way.busy, under_way.room_for_s) == (0, 10)
    under_way.begin("a", "task", None)
    assert (under_way.busy, under_way.room_for_s) == (1, 10)
    under_way.begin("b", "task", None)
    assert (under_way.busy, under_way.room_for_s) == (2, None)
    clock.now += 10
    under_way.end("a")
    clock.now += 3
    assert (under_way.busy, under_way.room_for_s) == (1, 3)
    under_way.end("b")
    assert (under_way.busy, under_way.room_for_s) == (0, 3)


def test_a_task_that_outlasts_its_limit_ends_the_process(clock: Clock, neglected: set[str]):
    under_way = UnderWay(1)
    why = why_end(under_way)
    with under_way.one("sweep", 300):
        clock.now += 300
        assert why() == ""
        clock.now += 1
        assert why() == "sweep outlasted its limit"
    assert why() == ""
    under_way.begin("a", "import", None)
    clock.now += 1e6
    assert why() == ""


def test_tasks_bring_their_limits_along(monkeypatch: pytest.MonkeyPatch, clock: Clock):
    under_way = UnderWay(2)
    monkeypatch.setattr(worker_processes, "_under_way", under_way)
    for task, limit_s in ((execute_next_run, LAST_RESORT_S), (sweep, 300)):
        task_prerun.send(task, task_id=task.name, task=task)
        clock.now += limit_s + 1
        assert under_way.overdue == [task.name]
        task_postrun.send(task, task_id=task.name, task=task)
        assert under_way.busy == 0


def test_a_process_that_hears_nothing_while_work_waits_ends(clock: Clock, neglected: set[str]):
    under_way = UnderWay(1)
    why = why_end(under_way)
    neglected.add("default")
    assert why() == ""
    clock.now += longest_wait_s() + 1
    assert why() == "work waits for default"


def test_a_process_that_is_at_work_or_has_nothing_to_do_goes_on(clock: Clock, neglected: set[str]):
    under_way = UnderWay(1)
    why = why_end(under_way)
    neglected.add("browser")  # others'
    clock.now += longest_wait_s() + 1
    assert why() == ""
    neglected.add("default")
    under_way.begin("a", "task", None)
    clock.now += longest_wait_s() + 1
    assert why() == ""
    under_way.end("a")
    clock.now += 1
    assert why() == ""


@pytest.mark.parametrize("away", ["broker", "database"])
def test_another_process_would_be_no_better_without_broker_or_database(
    away: str, clock: Clock, neglected: set[str], monkeypatch: pytest.MonkeyPatch
):
    def refuse() -> set[str]:
        raise OperationalError("gone")

    neglected.add("default")
    if away == "broker":
        monkeypatch.setattr(worker_processes, "check_broker", lambda: "does not answer")
    else:
        monkeypatch.setattr(worker_processes, "neglected", refuse)
    why = why_end(UnderWay(1))
    clock.now += longest_wait_s() + 1
    assert why() == ""


def test_a_process_whose_supervisor_is_gone_ends_a_little_later(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    why = why_end(UnderWay(1))
    assert why() == ""
    monkeypatch.setattr(os, "getppid", lambda: 1)
    assert why() == ""
    clock.now += STOP_LIMIT_S + 1
    assert why() == "its supervisor is gone"


@pytest.mark.django_db(transaction=True)
def test_it_tells_supervisor_and_database_and_ends_with_sigkill(monkeypatch: pytest.MonkeyPatch):
    told: list[float] = []
    ended: list[tuple[int, int]] = []
    under_way = UnderWay(3)
    signs = SignsOfLife("w@a", ["default"], under_way, lambda: told.append(time.monotonic()))
    monkeypatch.setattr(os, "kill", lambda *call: ended.append(call))
    under_way.begin("a", "task", limit_s=0)
    signs.start()
    deadline = time.monotonic() + 60
    while not ended and time.monotonic() < deadline:
        time.sleep(0.01)
    row: Any = WorkerBeat.objects.get(pk="w@a")
    signs.stop()
    assert (row.queues, row.slots, row.busy) == (["default"], 3, 1)
    assert row.room_since is not None
    assert len(told) >= 2
    assert ended[0] == (os.getpid(), signal.SIGKILL)
    assert not WorkerBeat.objects.exists()
