"""/healthz: open to all, and honest about what is not well."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.core.files.storage import default_storage
from django.db import DatabaseError, OperationalError, connection
from django.test import Client
from django.utils import timezone

from runs.models import WorkerBeat
from runs.queue.workers import all_duties, all_queues, beat, unserved_queues
from webagent.celery import app

pytestmark = pytest.mark.django_db


def look() -> tuple[int, dict[str, str]]:
    response = Client().get("/healthz")
    return response.status_code, response.json()


def test_all_is_well_with_a_worker_for_every_queue():
    beat("worker@a", ["default", "judge", "sweep"])
    beat("browser@a", ["browser"])
    assert look() == (200, {"status": "ok", "database": "ok", "worker": "ok", "storage": "ok"})


def test_the_queues_are_those_that_tasks_go_to():
    app.loader.import_default_modules()
    routes = app.amqp.router
    sent_to = {
        routes.route({}, name)["queue"].name for name in app.tasks if not name.startswith("celery.")
    }
    assert sent_to == all_queues() == {"default", "browser", "judge"}
    assert all_duties() == all_queues() | {"sweep"}


def test_without_a_worker_it_is_not_well():
    status, found = look()
    assert status == 503
    assert found["worker"] == "no worker gives a sign of life for: browser, default, judge, sweep"
    assert found["database"] == found["storage"] == "ok"


def test_a_probe_that_fails_is_no_error_of_the_site(caplog: pytest.LogCaptureFixture):
    assert look()[0] == 503
    assert not caplog.records


def test_a_queue_without_a_worker_is_named():
    beat("worker@a", ["default", "judge", "sweep"])
    assert look()[1]["worker"] == "no worker gives a sign of life for: browser"


def test_a_worker_that_fell_silent_does_not_count():
    beat("worker@a", sorted(all_duties()))
    assert not unserved_queues()
    WorkerBeat.objects.update(at=timezone.now() - timedelta(minutes=5))
    assert look()[0] == 503
    beat("worker@a", sorted(all_duties()))
    assert look()[0] == 200
    assert WorkerBeat.objects.count() == 1


def test_workers_that_are_long_gone_are_forgotten():
    beat("old@a", ["default"])
    WorkerBeat.objects.update(at=timezone.now() - timedelta(days=2))
    beat("new@a", ["default"])
    assert [worker.pk for worker in WorkerBeat.objects.all()] == ["new@a"]


def test_a_database_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any, **__: Any) -> None:
        raise DatabaseError("gone")

    monkeypatch.setattr(connection, "cursor", refuse)
    monkeypatch.setattr(WorkerBeat.objects, "filter", refuse)
    status, found = look()
    assert status == 503
    assert found["database"] == "does not answer"
    assert found["worker"] == "unknown without a database"
    assert "gone" not in str(found)


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz", "/metrics"])
def test_no_probe_looks_at_a_session(path: str, monkeypatch: pytest.MonkeyPatch):
    """It lies in the database, which may be what is away."""

    def refuse(*_: Any, **__: Any) -> None:
        raise OperationalError("gone")

    client = Client(raise_request_exception=False)
    client.cookies[settings.SESSION_COOKIE_NAME] = "a" * 32
    monkeypatch.setattr(SessionStore, "load", refuse)
    assert client.get("/runs/").status_code == 503
    answer, alone = client.get(path), Client().get(path)
    assert (answer.status_code, answer.content) == (alone.status_code, alone.content)
    assert answer["Content-Type"] == alone["Content-Type"]
    assert b"<html" not in answer.content


def test_a_storage_that_refuses_is_named(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: Any) -> str:
        raise OSError("No space left on device")

    monkeypatch.setattr(default_storage, "save", refuse)
    status, found = look()
    assert status == 503
    assert found["storage"] == "cannot be written or read"


def test_the_probe_leaves_nothing_behind():
    look()
    _folders, files = default_storage.listdir("probe")
    assert files == []
