"""Real Celery workers on a database, a broker and a data directory of their own."""

import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

import psycopg
import pytest
import redis
from celery import Celery
from django.core.management import call_command
from django.db import connection, connections
from django.test.utils import setup_databases, teardown_databases
from pytest_django import DjangoDbBlocker

from runs.launching.reruns.services import queue_run
from runs.models import Run, WorkerBeat
from tests.migrated import copy_sqlite
from webagent.environment.browser import OWNER_VARIABLE
from webagent.settings.base import database

ROOT = Path(__file__).parents[2]
LEASE_S = 5
START_WITHIN_S = 240
EVERY_QUEUE = "default,browser,judge,sweep"
TIMING = {
    "LEASE_S": str(LEASE_S),
    "HEARTBEAT_S": "1",
    "SWEEP_INTERVAL_S": "1",
    "RETRY_BACKOFF_S": "0.2",
    "MAX_ATTEMPTS": "3",
}
SLOW = {"action": "noop(400)"}


def wait_until(is_so: Callable[[], Any], limit_s: float = 120, what: str = "it") -> Any:
    """What `is_so` returns once it is true.

    Raises:
        AssertionError: it did not become true in time.
    """
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if found := is_so():
            return found
        time.sleep(0.1)
    raise AssertionError(f"{what} did not happen within {limit_s} s")


@dataclass
class Worker:
    """Processes that carry out work, under their supervisor, and what they write."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def words(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def children(self) -> list[int]:
        """The processes of the worker, without their supervisor."""
        told = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        with suppress(OSError):
            return [int(pid) for pid in told.read_text().split()]
        return []

    def stop(self) -> None:
        """Ask it to stop, then make sure of it."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(25)
        self.kill_all()

    def kill_all(self) -> None:
        """kill -9 to the supervisor and its processes, as a machine that loses power would."""
        with suppress(ProcessLookupError):
            # Else it would start again what is killed before it.
            os.kill(self.process.pid, signal.SIGSTOP)
        for pid in [*self.children, self.process.pid]:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        self.process.wait()


@dataclass
class Site:
    """Database, broker and files of one module of tests."""

    data_dir: Path
    environment: dict[str, str]
    broker: Celery

    @contextmanager
    def worker(self, *, processes: int = 1, queues: str = EVERY_QUEUE) -> Iterator[Worker]:
        """Running worker processes, stopped at the end."""
        name = f"test{time.monotonic_ns()}"
        log = self.data_dir / f"{name}.log"
        command = [sys.executable, "manage.py", "work", *queues.split(",")]
        command += ["--processes", str(processes), "--name", name]
        with log.open("wb") as file:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self.environment,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        worker = Worker(process, log)
        parts = processes + ("sweep" in queues)
        beats = WorkerBeat.objects.filter(name__startswith=name)
        try:
            wait_until(lambda: beats.count() == parts, START_WITHIN_S, "the worker's start")
            yield worker
        finally:
            worker.stop()

    def queue(self, agent: str = "looping", steps: int = 10, **options: Any) -> Run:
        """A queued run of which no worker has been told; the sweep will tell one."""
        if agent == "looping":
            options.setdefault("agent_config", SLOW)
        return queue_run(task="miniwob.click-test", agent=agent, seed=1, max_steps=steps, **options)

    def tell(self, times: int = 1) -> None:
        """Send so many messages that there is work."""
        for _ in range(times):
            self.broker.send_task("runs.tasks.execute_next_run", queue="browser")

    def messages(self) -> int:
        """How many messages wait for a browser."""
        if url := self.environment.get("REDIS_URL"):
            return int(redis.Redis.from_url(url).llen("browser"))
        return len(list((self.data_dir / "queue/messages").glob("*.browser.msg")))

    def empty_broker(self) -> None:
        """Lose every message, as FLUSHALL would."""
        if url := self.environment.get("REDIS_URL"):
            redis.Redis.from_url(url).flushdb()
            return
        for file in (self.data_dir / "queue/messages").glob("*.msg"):
            file.unlink(missing_ok=True)

    def browser_processes(self, owner: int | None = None) -> dict[int, str]:
        """Drivers and browsers that workers of this site, or that process, started, by id."""
        mark = re.compile(
            rb"%s=\d+:%s:" % (OWNER_VARIABLE.encode(), b"%d" % owner if owner else rb"\d+")
        )
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                environment = (folder / "environ").read_bytes()
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
            except OSError:
                continue
            ours = f"DATA_DIR={self.data_dir}".encode() in environment
            if ours and mark.search(environment):
                found[int(folder.name)] = command.decode(errors="replace")[:80]
        return found


@contextmanager
def live_site(
    directory: Path, redis_url: str | None = None, server_url: str | None = None
) -> Iterator[Site]:
    """A fresh site; the tests' own queries go to its database meanwhile.

    Its database is a copy of the tests' own where that is made already: it is empty between two
    tests, and migrated. `redis_url` names a Redis of its own, instead of a part of the one of all,
    and `server_url` a PostgreSQL.
    """
    url = server = server_url or os.environ.get("DATABASE_URL")
    name = f"crosscheck_workers_{os.getpid()}"
    connection.close()
    migrated = None if server_url else _tests_own_database()
    if url:
        with psycopg.connect(url, autocommit=True) as there:
            there.execute(f'CREATE DATABASE "{name}" TEMPLATE "{migrated or "template1"}"')
        url = urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    environment = {**os.environ, **TIMING, "DATA_DIR": str(directory)}
    environment |= {"PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "webagent.settings.test"}
    environment.pop(OWNER_VARIABLE, None)
    if url:
        environment["DATABASE_URL"] = url
    if redis_url is not None:
        environment["REDIS_URL"] = redis_url
    elif shared := os.environ.get("REDIS_URL"):
        environment["REDIS_URL"] = urlunsplit(urlsplit(shared)._replace(path="/9"))
    for folder in ("queue/messages", "queue/control"):
        (directory / folder).mkdir(parents=True)
    before = connections.databases["default"]
    settings_of_site = {**before, **database(url, directory)}
    if migrated and not url:
        copy_sqlite(Path(migrated), Path(settings_of_site["NAME"]))
    connection.settings_dict = settings_of_site
    connections.databases["default"] = settings_of_site
    try:
        if not migrated:
            call_command("migrate", verbosity=0)
        yield Site(directory, environment, _broker(environment, directory))
    finally:
        connection.close()
        connection.settings_dict = before
        connections.databases["default"] = before
        if server:
            with psycopg.connect(server, autocommit=True) as there:
                there.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def tests_database(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, django_db_keepdb: bool
) -> Iterator[None]:
    """The tests' own database; where only tests with workers run, nobody else makes it."""
    if _tests_own_database():
        yield
        return
    with django_db_blocker.unblock():
        made = setup_databases(
            verbosity=0, interactive=False, keepdb=django_db_keepdb, serialized_aliases=[]
        )
    assert _tests_own_database(), "every site would be migrated anew"
    yield
    if not django_db_keepdb:
        with django_db_blocker.unblock():
            teardown_databases(made, verbosity=0)


@pytest.fixture(scope="module")
def site(
    tests_database: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    """One for the tests of a module."""
    directory = tmp_path_factory.mktemp("site") / "data"
    directory.mkdir()
    with django_db_blocker.unblock(), live_site(directory) as made:
        yield made


def _tests_own_database() -> str | None:
    """Its name, once a test has asked for it: till then Django knows another one."""
    name = str(connections.databases["default"]["NAME"])
    return name if Path(name).name.startswith("test") else None


def _broker(environment: dict[str, str], directory: Path) -> Celery:
    """A client of the site's broker, which is another one than the tests' own."""
    broker = Celery("tests", set_as_current=False)
    if url := environment.get("REDIS_URL"):
        broker.conf.update(broker_url=url)
        return broker
    folders = {
        "data_folder_in": str(directory / "queue/messages"),
        "data_folder_out": str(directory / "queue/messages"),
        "control_folder": str(directory / "queue/control"),
    }
    broker.conf.update(
        broker_url="filesystem://localhost",
        broker_transport="runs.queue.file_broker:FileTransport",
        broker_transport_options=folders,
    )
    return broker


def pid_of_owner(run: Run) -> int:
    """The process that holds the run."""
    host, pid, _nonce = run.lease_owner.rsplit(":", 2)
    assert host == socket.gethostname()
    return int(pid)


def freeze(pid: int) -> None:
    """SIGSTOP at a moment at which the process does not keep everybody from writing.

    SQLite lets one write at a time: whatever is stopped in the middle of a write holds up all
    others till it goes on, and no lease helps against that.
    """

    def stopped_outside_of_a_write() -> bool:
        os.kill(pid, signal.SIGSTOP)
        if connection.vendor != "sqlite":
            return True
        with closing(sqlite3.connect(connection.settings_dict["NAME"], timeout=2)) as there:
            try:
                there.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                os.kill(pid, signal.SIGCONT)
                return False
            there.execute("ROLLBACK")
            return True

    wait_until(stopped_outside_of_a_write, what=f"a moment at which {pid} does not write")


def attempts_of(run_id: UUID) -> list[Run]:
    """The run and every later attempt at the same trial, in order."""
    found = [Run.objects.get(pk=run_id)]
    while later := Run.objects.filter(retry_of=found[-1]).first():
        found.append(later)
    return found


def check_history(run_id: UUID) -> list[Run]:
    """Every attempt, once it is certain that the trial ended exactly once and lost nothing.

    Raises:
        AssertionError: an attempt is still active, two count, or steps are lost or doubled.
    """
    attempts = attempts_of(run_id)
    assert [run.attempt for run in attempts] == list(range(1, len(attempts) + 1))
    assert all(not run.is_active and run.ended_at for run in attempts)
    assert [run.superseded for run in attempts] == [True] * (len(attempts) - 1) + [False]
    for run in attempts:
        indices = list(run.steps.order_by("index").values_list("index", flat=True))
        assert indices == list(range(run.n_steps))
        assert run.steps.filter(screenshot=None).count() == 0
    return attempts


def has_ended(run_id: UUID) -> bool:
    """Whether the last attempt has ended."""
    return not attempts_of(run_id)[-1].is_active
