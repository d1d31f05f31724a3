"""A database that is still starting: it is waited for, in words."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from django.core.management.base import CommandError
from django.db import OperationalError, connection

from runs.operations import databases
from runs.operations.databases import wait_for_database
from scripts.with_services import free_port
from tests.faults.services import PostgreSQL
from tests.runs.live_workers import ROOT, wait_until


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has the database refuse so often."""

    def set_up(refusals: int) -> None:
        left = iter([True] * refusals)

        def connect() -> None:
            if next(left, False):
                raise OperationalError("the database system is starting up\nmore of it")

        monkeypatch.setattr(connection, "ensure_connection", connect)
        monkeypatch.setattr(databases, "LOOK_EVERY_S", 0.0)

    return set_up


def test_a_database_that_answers_is_no_news(answers: Callable[..., None]):
    answers(0)
    said: list[str] = []
    wait_for_database(said.append)
    assert said == []


def test_one_that_is_starting_is_waited_for_and_that_is_said_once(answers: Callable[..., None]):
    answers(20)
    said: list[str] = []
    wait_for_database(said.append)
    assert said == [
        "Waiting for the database: the database system is starting up",
        "The database answers.",
    ]


def test_one_that_never_answers_is_given_up_in_one_line(
    answers: Callable[..., None], monkeypatch: pytest.MonkeyPatch
):
    answers(1_000_000)
    monkeypatch.setattr(databases, "WAIT_LIMIT_S", 0.0)
    with pytest.raises(CommandError, match=r"not answered for 0 s: the database .* up$"):
        wait_for_database(lambda _line: None)


@pytest.fixture
def server() -> Iterator[PostgreSQL]:
    """One that is not started, where other users, too, may read."""
    with TemporaryDirectory(prefix="starting-") as folder:
        Path(folder).chmod(0o755)
        made = PostgreSQL(Path(folder) / "postgresql")
        yield made
        made.stop_immediately()


@pytest.mark.worker
@pytest.mark.postgresql_only("SQLite has no server")
@pytest.mark.parametrize("command", [["serve"], ["work", "default", "sweep"]])
def test_programs_wait_for_a_database_that_is_still_starting(
    command: list[str], server: PostgreSQL, tmp_path: Path
) -> None:
    log, url = tmp_path / "log", server.url
    environment = {**os.environ, "DATABASE_URL": url, "DATA_DIR": str(tmp_path / "data")}
    environment |= {"PORT": str(free_port()), "DJANGO_SETTINGS_MODULE": "webagent.settings.test"}
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: "Waiting for the database" in log.read_text(), what="the notice")
        assert "Traceback" not in log.read_text()
        server.create()
        server.start()
        wait_until(lambda: "The database answers" in log.read_text(), what="the answer")
        if command == ["serve"]:
            wait_until(lambda: "is ready" in log.read_text(), 240, "the start")
            assert "Traceback" not in log.read_text()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
