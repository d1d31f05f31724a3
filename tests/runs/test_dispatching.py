"""Messages: sent after commit, and no harm done where they cannot be."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from kombu.exceptions import OperationalError

from runs.models import Run
from runs.services.reruns import queue_run
from runs.tasks import dispatch, dispatch_due, dispatching, execute_run, sweep, sweeping
from webagent.celery import app

pytestmark = pytest.mark.django_db
Sent = list[tuple[str, str, str]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Messages that went out: task, run, queue."""
    messages: Sent = []

    def send(name: str, args: tuple[str], *, queue: str, **_: Any) -> None:
        messages.append((name, args[0], queue))

    monkeypatch.setattr(app, "send_task", send)
    return messages


def waiting(**fields: Any) -> Run:
    run = queue_run(task="miniwob.click-test", agent="oracle")
    Run.objects.filter(pk=run.pk).update(**{"dispatched_at": None, **fields})
    return run


def test_each_due_run_gets_one_message(sent: Sent):
    first, second = waiting(), waiting()
    later = waiting(not_before=timezone.now() + timedelta(hours=1))
    dispatch([first.pk, second.pk, later.pk])
    dispatch([first.pk, second.pk, later.pk])
    assert sent == [
        ("runs.tasks.execute_run", str(first.pk), "browser"),
        ("runs.tasks.execute_run", str(second.pk), "browser"),
    ]


def test_what_was_not_asked_for_is_left_to_the_sweep(sent: Sent):
    waiting()
    dispatch([])
    assert sent == []
    dispatch_due()
    assert len(sent) == 1


def test_a_message_that_nobody_took_is_sent_again(sent: Sent):
    run = waiting()
    dispatch_due()
    dispatch_due()
    assert len(sent) == 1
    long_ago = timezone.now() - timedelta(seconds=settings.ENV.LEASE_S + 1)
    Run.objects.filter(pk=run.pk).update(dispatched_at=long_ago)
    dispatch_due()
    assert len(sent) == 2


def test_without_a_broker_runs_wait_for_the_next_sweep(sent: Sent, monkeypatch: pytest.MonkeyPatch):
    runs = [waiting() for _ in range(3)]
    working = app.send_task

    def refuse(name: str, args: tuple[str], **options: Any) -> None:
        if args[0] == str(runs[0].pk):
            working(name, args, **options)
        else:
            raise OperationalError("refused")

    monkeypatch.setattr(app, "send_task", refuse)
    dispatch([run.pk for run in runs])
    assert [message[1] for message in sent] == [str(runs[0].pk)]
    assert Run.objects.filter(dispatched_at=None).count() == 2
    monkeypatch.setattr(app, "send_task", working)
    dispatch_due()
    assert {message[1] for message in sent} == {str(run.pk) for run in runs}


def test_the_task_carries_out_one_run_and_asks_for_the_next(
    sent: Sent, monkeypatch: pytest.MonkeyPatch
):
    done: list[str] = []

    def execute(run_id: Any) -> bool:
        done.append(str(run_id))
        return len(done) == 1

    monkeypatch.setattr("runs.tasks.reruns.execute", execute)
    first, second, _third = waiting(), waiting(), waiting()
    Run.objects.filter(pk=first.pk).update(status="running")
    execute_run(str(first.pk))
    assert done == [str(first.pk)]
    assert [message[1] for message in sent] == [str(second.pk)]
    execute_run(str(first.pk))
    assert len(sent) == 1


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
    assert {"sweep_runs", "dispatch_due", "sweep_imports", "dispatch_imports"} <= names


def test_tasks_have_the_names_that_the_settings_use():
    assert dispatching.EXECUTE_RUN in app.tasks
    assert dispatching.EXECUTE_RUN in settings.CELERY_TASK_ROUTES
    for entry in settings.CELERY_BEAT_SCHEDULE.values():
        assert entry["task"] in app.tasks
