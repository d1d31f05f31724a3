"""The scheduler of the sweep, when the clock of its machine is set back."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.conf import settings

from runs.beat import SteadyScheduler

EVERY_S = 30.0


@pytest.fixture
def scheduler(tmp_path: Path) -> SteadyScheduler:
    app = Celery("tests", set_as_current=False)
    app.conf.result_expires = None  # of itself it would sweep results, too
    app.conf.beat_schedule = {"sweep": {"task": "sweep", "schedule": EVERY_S}}
    return SteadyScheduler(app=app, schedule_filename=str(tmp_path / "beat"))


def test_the_site_uses_it():
    assert settings.CELERY_BEAT_SCHEDULER == "runs.beat:SteadyScheduler"


@pytest.mark.fault(14, "the clock of the scheduler's machine is set back by twenty minutes")
@pytest.mark.parametrize("has_ticked", [True, False], ids=["while it runs", "before its start"])
def test_it_goes_on_when_the_clock_was_set_back(scheduler: SteadyScheduler, has_ticked: bool):
    if has_ticked:
        scheduler.tick()
    entry = scheduler.schedule["sweep"]
    entry.last_run_at = entry.default_now() + timedelta(minutes=20)
    heap: list[Any] = scheduler._heap or []
    heap[:] = [event._replace(time=event.time + 1200) for event in heap]
    assert 0 < scheduler.tick() <= EVERY_S
    assert entry.last_run_at <= entry.default_now()


def test_nothing_is_sent_too_early(scheduler: SteadyScheduler):
    assert EVERY_S - 10 < scheduler.tick() <= EVERY_S
    last = scheduler.schedule["sweep"].last_run_at
    scheduler.tick()
    assert scheduler.schedule["sweep"].last_run_at == last
