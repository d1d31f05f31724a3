"""A whole installation as a user has it: its own data, its own server and worker."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests.migrated import copy_migrated
from webagent.settings.base import database

ROOT = Path(__file__).parents[2]
START_LIMIT_S = 120
STOP_LIMIT_S = 60


@dataclass(frozen=True, slots=True)
class Installation:
    """Where it serves, and how its commands are run."""

    url: str
    environment: dict[str, str]

    def manage(self, *arguments: str) -> str:
        """What the command printed.

        Raises:
            CalledProcessError: it failed.
        """
        command = [sys.executable, "manage.py", *arguments]
        ended = subprocess.run(
            command, cwd=ROOT, env=self.environment, check=True, capture_output=True, text=True
        )
        return ended.stdout


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def installation(data_dir: Path) -> Iterator[Installation]:
    """The demo, served with a worker as `make run` serves it, and stopped at the end."""
    port = free_port()
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "webagent.settings.local",
        "DATA_DIR": str(data_dir),
        "PORT": str(port),
        "SWEEP_INTERVAL_S": "2",
    }
    with _own_database(environment):
        site = Installation(f"http://127.0.0.1:{port}", environment)
        if not environment.get("DATABASE_URL"):
            copy_migrated(Path(database(None, data_dir)["NAME"]))
        site.manage("migrate", "--verbosity", "0")
        site.manage("load_demo", "--if-empty")
        server = subprocess.Popen([sys.executable, "manage.py", "serve"], cwd=ROOT, env=environment)
        try:
            _wait_until_well(site.url, server)
            yield site
        finally:
            server.send_signal(signal.SIGTERM)
            assert server.wait(STOP_LIMIT_S) == 0


@contextmanager
def _own_database(environment: dict[str, str]) -> Iterator[None]:
    """On PostgreSQL and Redis: a database and a broker number that no other test uses."""
    url = environment.get("DATABASE_URL")
    if not url:
        yield
        return
    name = f"crosscheck_site_{os.getpid()}"
    environment["DATABASE_URL"] = urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    if redis_url := environment.get("REDIS_URL"):
        environment["REDIS_URL"] = urlunsplit(urlsplit(redis_url)._replace(path="/8"))
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}"')
        try:
            yield
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _wait_until_well(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=5) as answer:  # noqa: S310
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.5)
    raise AssertionError("the installation did not become well")
