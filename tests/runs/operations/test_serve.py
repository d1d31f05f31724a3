"""`manage.py serve`: starts everything, keeps it up, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from django.contrib.auth import get_user_model

from tests.faults.served import Served, name_of, processes_of
from tests.runs.live_workers import ROOT, Site, wait_until

pytestmark = [pytest.mark.worker, pytest.mark.sqlite_only("tests what `make run` starts")]


@pytest.fixture
def served(site: Site) -> Iterator[Served]:
    served = Served(site)
    served.start()
    try:
        served.wait()
        yield served
    finally:
        served.stop()
        served.kill()


def processes_named(site: Site, name: str) -> list[int]:
    """The site's processes of this name."""
    return [pid for pid in processes_of(site) if name_of(pid) == name]


def assert_refused(site: Site, port: int) -> None:
    """Another on this port ends at once, with one sentence."""
    second = subprocess.run(
        [sys.executable, "manage.py", "serve"],
        cwd=ROOT,
        env={**site.environment, "PORT": str(port)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert second.returncode == 1
    assert f"Port {port} is in use" in second.stderr
    assert len(second.stderr.strip().splitlines()) == 1


def test_it_serves_keeps_its_parts_up_and_leaves_nothing(site: Site, served: Served):
    assert f"http://127.0.0.1:{served.port}" in served.words
    assert served.health() == (
        200,
        {"status": "ok", "database": "ok", "worker": "ok", "storage": "ok"},
    )
    assert_refused(site, served.port)

    (browser_worker,) = processes_named(site, "browser-1")
    os.kill(browser_worker, signal.SIGKILL)
    wait_until(lambda: "browser-1 ended (-9)" in served.words, what="the notice")
    wait_until(lambda: processes_named(site, "browser-1") and served.is_well(), what="its restart")

    run = site.queue(steps=100)
    wait_until(lambda: run.steps.count() >= 1, what="a first step")
    assert site.browser_processes()
    assert served.stop() == 0
    assert processes_of(site) == {}
    with pytest.raises(OSError, match="refused"):
        served.health()


def test_a_port_is_taken_as_soon_as_somebody_begins_to_serve_there(site: Site):
    first = Served(site)
    first.start("--first", "shell -c \"import time; print('begun', flush=True); time.sleep(60)\"")
    try:
        wait_until(lambda: "begun" in first.words, what="the command before it listens")
        assert_refused(site, first.port)
    finally:
        first.kill()


def test_when_it_is_killed_its_parts_end_by_themselves(site: Site, served: Served):
    os.kill(served.pid, signal.SIGKILL)
    wait_until(lambda: processes_of(site) == {}, 60, f"the end of {processes_of(site)}")


def test_it_does_not_serve_if_what_is_to_be_done_first_fails(site: Site):
    served = Served(site)
    served.start("--first", "create_user ada.l --role nobody")
    assert served.process is not None
    assert served.process.wait(60) == 1
    assert "nobody" in served.words


def test_what_is_to_be_done_first_is_done_on_the_migrated_database(site: Site):
    served = Served(site)
    served.start("--first", "create_user ada.l --role engineer")
    try:
        served.wait()
        assert get_user_model().objects.filter(username="ada.l").exists()
    finally:
        served.stop()
        served.kill()
