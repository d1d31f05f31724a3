"""From the click on "Rerun" to the agent's first step, by a worker, against BrowserGym's reset."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from django.test import Client
from django.utils import timezone

from runs.launching.reruns.services import queue_run
from runs.models import Run, RunStatus, Step, WorkerBeat
from tests.benchmarks.clock import tell
from tests.benchmarks.stepping import Bare
from tests.runs.factories import make_user

TIMES = 5
LIMIT_S = 120
TASK = "miniwob.click-test"


def run() -> None:
    client = Client()
    client.force_login(make_user(role="engineer"))
    old = queue_run(task=TASK, agent="oracle", seed=4)
    Run.objects.filter(pk=old.pk).update(status=RunStatus.FINISHED, outcome="failure")
    with _worker():
        first, _ = _seconds(client, old)
        ours, waits, bare = [], [], []
        for _ in range(TIMES):
            seconds, wait_s = _seconds(client, old)
            ours.append(seconds)
            waits.append(wait_s)
            bare.append(_reset_seconds())
    sys.stdout.write(
        f"first click after a worker's start: {first:.3g} s; until a worker has it: "
        f"{median(waits):.3g} s\n"
    )
    over = median(ours) - median(bare)
    tell(
        f"from the click on rerun to the first step ({over:+.2f} s; goal: under +1 s)",
        median(ours),
        median(bare),
    )


def _seconds(client: Client, old: Run) -> tuple[float, float]:
    """Until the environment stood and the agent was asked, and of that, until it was claimed.

    Returns once the run has ended.
    """
    clicked_at = timezone.now()
    sent = {"agent": "", "seeds": "same", "trials": 1, "token": uuid.uuid4()}
    client.post(f"/runs/{old.pk}/rerun/", sent)
    new = Run.objects.filter(rerun_of=old).latest("created_at")
    _wait_for(lambda: Run.objects.filter(pk=new.pk, status__in=RunStatus.ended()).exists())
    new.refresh_from_db()
    at = Step.objects.get(run=new, index=0).started_at
    assert at is not None
    assert new.claimed_at is not None
    return (at - clicked_at).total_seconds(), (new.claimed_at - clicked_at).total_seconds()


def _reset_seconds() -> float:
    """BrowserGym's own reset of the same task, its Playwright running already."""
    with Bare(TASK) as bare:
        return bare.reset_s


@contextmanager
def _worker() -> Iterator[None]:
    """A worker of this database and this broker, once it has given its sign of life."""
    command = [sys.executable, "manage.py", "work", "default", "sweep", "browser", "judge"]
    command += ["--processes", "1"]
    with TemporaryDirectory() as folder, (Path(folder) / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=dict(os.environ))
        try:
            _wait_for(WorkerBeat.objects.exists)
            yield
        finally:
            process.terminate()
            process.wait(30)


def _wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not is_so():
        if time.monotonic() > deadline:
            raise RuntimeError(f"nothing happened within {LIMIT_S} s")
        time.sleep(0.02)
