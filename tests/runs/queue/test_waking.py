"""Messages: as many as idle browsers can take, and no harm done where they cannot be sent."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from kombu.exceptions import OperationalError

from runs.launching.reruns.services import queue_run
from runs.launching.running import execute_next_run
from runs.models import Experiment, ExperimentState, Run
from runs.queue import sweeping
from runs.queue import workers as waking
from runs.queue.sweeping import sweep
from runs.queue.workers import beat, browsers, idle_browsers, wake_workers
from webagent.celery import app

pytestmark = pytest.mark.django_db
MESSAGE = ("runs.tasks.execute_next_run", "browser")
Sent = list[tuple[str, str]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Messages that went out: task and queue."""
    messages: Sent = []

    def send(name: str, *, queue: str, **_: Any) -> None:
        messages.append((name, queue))

    monkeypatch.setattr(app, "send_task", send)
    return messages


def waiting(number: int = 1, **fields: Any) -> list[Run]:
    runs = [queue_run(task="miniwob.click-test", agent="oracle") for _ in range(number)]
    Run.objects.filter(pk__in=[run.pk for run in runs]).update(**fields) if fields else None
    return runs


def test_idle_browsers_get_a_message_each_as_far_as_there_are_runs(sent: Sent):
    beat("one@host", ["browser"], 3)
    beat("two@host", ["browser", "default"], 2)
    beat("judge@host", ["judge"], 50)
    assert (browsers(), idle_browsers()) == (5, 5)
    first, second, *_ = waiting(4)
    wake_workers()
    assert sent == [MESSAGE] * 4
    sent.clear()
    Run.objects.filter(pk__in=[first.pk, second.pk]).update(status="running")
    assert idle_browsers() == 3
    wake_workers()
    assert len(sent) == 2
    wake_workers(most=1)
    assert len(sent) == 3


def test_one_message_goes_out_even_if_all_seem_busy(sent: Sent):
    beat("one@host", ["browser"], 1)
    Run.objects.filter(pk=waiting(3)[0].pk).update(status="leased")
    wake_workers()
    assert sent == [MESSAGE]


def test_nobody_is_told_where_nothing_is_due(sent: Sent):
    beat("one@host", ["browser"], 4)
    waiting(2, not_before=timezone.now() + timedelta(hours=1))
    waiting(2, cancel_requested_at=timezone.now())
    paused = Experiment.objects.create(name="paused", state=ExperimentState.PAUSED)
    waiting(2, experiment=paused)
    wake_workers()
    assert sent == []


def test_without_a_worker_no_messages_pile_up(sent: Sent):
    waiting(2)
    assert idle_browsers() is None
    wake_workers()
    assert sent == []


@pytest.mark.fault(2, "the broker refuses the message of a run")
def test_without_a_broker_runs_wait_for_the_next_sweep(sent: Sent, monkeypatch: pytest.MonkeyPatch):
    beat("one@host", ["browser"], 4)
    waiting(3)
    working = app.send_task

    def refuse(name: str, **options: Any) -> None:
        if sent:
            raise OperationalError("refused")
        working(name, **options)

    monkeypatch.setattr(app, "send_task", refuse)
    wake_workers()
    assert sent == [MESSAGE]
    monkeypatch.setattr(app, "send_task", working)
    wake_workers()
    assert len(sent) == 4


def test_the_task_carries_out_one_run_and_asks_for_the_next(
    sent: Sent, monkeypatch: pytest.MonkeyPatch
):
    beat("one@host", ["browser"], 4)
    found = iter([True, False])
    monkeypatch.setattr("runs.launching.running.execute_next", lambda: next(found))
    waiting(2)
    execute_next_run()
    assert sent == [MESSAGE]
    execute_next_run()
    assert sent == [MESSAGE]


def test_one_sweep_that_fails_keeps_no_other_from_its_work(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    called: list[str] = []

    def breaks() -> None:
        raise RuntimeError("a bug")

    sweepers: list[Callable[[], object]] = [breaks, lambda: called.append("second")]
    monkeypatch.setattr(sweeping, "_sweepers", sweepers)
    sweep()
    assert called == ["second"]
    assert "breaks failed" in caplog.text


def test_every_part_that_queues_work_is_swept():
    names = {function.__name__ for function in sweeping._sweepers}
    assert {"sweep_runs", "wake_workers", "sweep_imports", "dispatch_imports"} <= names


def test_tasks_have_the_names_that_the_settings_use():
    assert waking.EXECUTE_NEXT in app.tasks
    assert waking.EXECUTE_NEXT in settings.CELERY_TASK_ROUTES
