"""A new version is rolled out while people label and upload and runs are under way."""

import random
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import ClassVar

from runs.models import Run, RunStatus
from tests.faults import nemeses
from tests.faults.findings import Findings
from tests.faults.nemeses import under_way
from tests.faults.scenarios import Place, Scenario
from tests.faults.storm import Storm
from tests.faults.traffic import again
from tests.faults.web import Web
from tests.runs.live_workers import ROOT, wait_until

WEB_LIMIT_S = 40
WORKER_LIMIT_S = 60


@dataclass
class RolledWeb(Web):
    """gunicorn as the image starts it; the next one listens on the same port before this ends."""

    more: ClassVar[tuple[str, ...]] = ("--reuse-port",)

    def start(self) -> None:
        command = [sys.executable, "-m", "gunicorn", "webagent.wsgi", *self.more]
        command += ["--config", "python:webagent.web_server"]
        told = {"HOST": "127.0.0.1", "PORT": str(self.port), "WEB_THREADS": "4"}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self.site.environment | told,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def roll(self) -> float:
        """Start another one, then tell the first to stop; seconds until it had.

        Raises:
            AssertionError: it did not end in order, or not in time.
        """
        former = self.process
        assert former is not None
        self.start()
        wait_until(lambda: len(self.children()) == 2, what="the new processes")
        begun = time.monotonic()
        former.send_signal(signal.SIGTERM)
        assert former.wait(WEB_LIMIT_S) == 0, "the web server did not end in order"
        return time.monotonic() - begun


def roll_out(place: Place, times: int, findings: Findings) -> None:
    """Replace web server and workers so often by others of the same kind."""
    with ExitStack() as stack:
        redis = stack.enter_context(place.redis())
        site = stack.enter_context(place.site(redis))
        storm = Storm(site, findings, redis)
        storm.web = RolledWeb(site, storm.web.port)
        findings.times = 0
        with storm.at_work(labellers=3, uploaders=2, runs=True):
            for _ in range(times):
                time.sleep(random.uniform(0.5, 2))
                findings.recoveries_s.append(storm.web.roll())
                _roll_workers(storm)
                findings.times += 1
        findings.left_over += nemeses.processes_left(storm)
    findings.check()


def _roll_workers(storm: Storm) -> None:
    """New ones first; what the former had under way is handed back, none of it left behind."""
    wait_until(lambda: under_way(storm), what="a run under way")
    former = storm.worker, storm.other_worker
    pids = [pid for worker in former for pid in worker.children]
    storm.start_worker()
    storm.start_other_worker()
    begun = time.monotonic()
    for worker in former:
        worker.process.send_signal(signal.SIGTERM)
    for worker in former:
        if worker.process.wait(WORKER_LIMIT_S) != 0:
            storm.findings.complain([f"a worker ended with {worker.process.returncode}"])
    storm.findings.recoveries_s.append(time.monotonic() - begun)
    again(lambda: _complain_of_lost(storm, pids))


def _complain_of_lost(storm: Storm, pids: list[int]) -> None:
    held = Run.objects.filter(status__in=[RunStatus.LEASED, RunStatus.RUNNING])
    for pid in pids:
        left = held.filter(lease_owner__contains=f":{pid}:").count()
        storm.findings.complain([f"a stopped worker kept {left} runs"] if left else [])


DEPLOYS = (
    Scenario(
        "rolled out",
        17,
        "SIGTERM to web server and workers beside new ones, while people label and upload"
        " and runs are under way",
        10,
        roll_out,
    ),
)
"""Rolling out under load."""
