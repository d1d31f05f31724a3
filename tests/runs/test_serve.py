"""`manage.py serve`: starts everything, keeps it up, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runs.live_workers import ROOT, Site, live_site, wait_until

pytestmark = pytest.mark.worker


@pytest.fixture(scope="module")
def site(django_db_blocker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory: Path = tmp_path_factory.mktemp("serve") / "data"
    directory.mkdir()
    with django_db_blocker.unblock(), live_site(directory) as site:
        yield site


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Served:
    """A running `manage.py serve`."""

    def __init__(self, site: Site) -> None:
        self.port = free_port()
        self.log = site.data_dir / "serve.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve"],
                cwd=ROOT,
                env={**site.environment, "PORT": str(self.port)},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def words(self) -> str:
        return self.log.read_text(errors="replace")

    def health(self) -> tuple[int, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def is_well(self) -> bool:
        try:
            return self.health()[0] == 200
        except OSError:
            return False


def processes_of(site: Site) -> dict[int, str]:
    """Every process of the site, by what it inherited."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            environment = (folder / "environ").read_bytes()
            if f"DATA_DIR={site.data_dir}".encode() in environment:
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(folder.name)] = command.decode(errors="replace")[:400]
    return found


def pids(site: Site, words: str) -> list[int]:
    return [pid for pid, command in processes_of(site).items() if words in command]


@pytest.fixture
def served(site: Site) -> Iterator[Served]:
    served = Served(site)
    try:
        wait_until(lambda: "is ready" in served.words, what=f"the start: {served.words}")
        yield served
    finally:
        if served.process.poll() is None:
            served.process.send_signal(signal.SIGTERM)
            served.process.wait(60)


def test_it_serves_keeps_its_parts_up_and_leaves_nothing(site: Site, served: Served):
    assert f"http://127.0.0.1:{served.port}" in served.words
    assert served.health() == (
        200,
        {"status": "ok", "database": "ok", "worker": "ok", "storage": "ok"},
    )
    second = subprocess.run(
        [sys.executable, "manage.py", "serve"],
        cwd=ROOT,
        env={**site.environment, "PORT": str(served.port)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert second.returncode == 1
    assert f"Port {served.port} is in use" in second.stderr
    assert len(second.stderr.strip().splitlines()) == 1

    (browser_worker,) = [pid for pid in pids(site, "browser@%h") if _leads_its_group(pid)]
    os.kill(browser_worker, signal.SIGKILL)
    wait_until(lambda: "browser ended (-9)" in served.words, what="the notice")
    wait_until(
        lambda: [p for p in pids(site, "browser@%h") if _leads_its_group(p)] and served.is_well(),
        what="its restart",
    )

    run = site.queue(steps=100)
    wait_until(lambda: run.steps.count() >= 1, what="a first step")
    assert site.browser_processes()
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(60) == 0
    assert processes_of(site) == {}
    with pytest.raises(OSError, match="refused"):
        served.health()


def test_when_it_is_killed_its_parts_end_by_themselves(site: Site, served: Served):
    os.kill(served.process.pid, signal.SIGKILL)
    served.process.wait()
    wait_until(lambda: processes_of(site) == {}, 60, f"the end of {processes_of(site)}")


def _leads_its_group(pid: int) -> bool:
    return os.getpgid(pid) == pid
