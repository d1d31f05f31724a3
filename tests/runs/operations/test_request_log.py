"""Lines of a request, of the tasks that it starts, and of what breaks in them."""

import json
import logging
import queue
from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery, Task
from celery.contrib.testing.worker import start_worker
from django.test import Client

from runs.operations.processes import worker_processes
from webagent import celery
from webagent.process.logs import JsonLineFormatter, facts_now, logged_with

pytestmark = pytest.mark.slow


@pytest.fixture
def lines() -> Iterator[queue.Queue[dict[str, object]]]:
    """Every line as a program reads it, as soon as it is written."""
    written: queue.Queue[dict[str, object]] = queue.Queue()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.put(json.loads(self.format(record)))

    handler = Handler()
    handler.setFormatter(JsonLineFormatter())
    watched = [logging.getLogger(name) for name in ("access", "celery.app.trace")]
    for logger in watched:
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    yield written
    for logger in watched:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)


def test_a_request_leaves_one_line_without_what_was_searched(lines: queue.Queue[dict[str, object]]):
    answer = Client().get("/nowhere/?q=secret-search", headers={"X-Request-ID": "from-the-proxy-1"})
    line = lines.get(timeout=30)
    assert lines.empty()
    assert answer["X-Request-ID"] == line["request_id"] == "from-the-proxy-1"
    assert (line["method"], line["path"], line["status"]) == (
        "GET",
        "/nowhere/",
        answer.status_code,
    )
    assert "secret-search" not in str(line)
    assert {"time", "level", "logger", "ms", "client"} <= set(line)


@pytest.mark.parametrize("given", ["short", "with space in it", "x" * 65, 'a"b{}\\nc-inject'])
def test_an_id_that_does_not_look_like_one_is_replaced(given: str):
    answered = Client().get("/livez", headers={"X-Request-ID": given})["X-Request-ID"]
    assert answered != given
    assert len(answered) >= 16


def test_probes_that_go_well_are_no_news(lines: queue.Queue[dict[str, object]]):
    Client().get("/livez")
    assert lines.empty()


@pytest.fixture
def our_app_again() -> Iterator[None]:
    """Celery's helper makes the app of the worker that it starts everybody's."""
    yield
    celery.app.set_current()
    celery.app.set_default()


def test_a_task_knows_the_request_that_asked_for_it_also_when_it_breaks(
    lines: queue.Queue[dict[str, object]], our_app_again: None
):
    app = Celery("apart", broker="memory://", set_as_current=False)
    app.conf.worker_hijack_root_logger = False
    known: queue.Queue[dict[str, object]] = queue.Queue()

    @app.task(name="look", bind=True)
    def look(self: Task[Any, Any]) -> None:
        known.put(facts_now())
        with logged_with(run_id="run-7", attempt=2):
            raise ZeroDivisionError

    assert worker_processes.REQUEST_ID == "request_id"
    with start_worker(app, pool="solo", perform_ping_check=False, loglevel="ERROR"):
        with logged_with(request_id="of-a-request"):
            sent = look.delay()
        facts = known.get(timeout=20)
        line = lines.get(timeout=20)
    assert facts == {"request_id": "of-a-request", "task_id": sent.id, "task": "look"}
    assert (line["request_id"], line["task_id"]) == ("of-a-request", sent.id)
    assert "run_id=run-7 attempt=2" in str(line["exc_info"])
    assert facts_now() == {}
