"""How long `manage.py serve` takes to be healthy, and what its processes hold in memory at rest.

Each start is followed by one of a bare process that only imports what a server cannot do without:
what the machine allows at that moment.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.benchmarks.goals import record
from tests.faults.served import Served, processes_of
from tests.runs.live_workers import Site, live_site

STARTS = 3
REST_S = 15
"""Memory is read so long after the start, when all parts have begun to wait."""
BARE = "import celery.worker, django.core.management, gunicorn.app.base, numpy, PIL.Image, pydantic"
GOAL_MB, GOAL_S = 350, 3


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "data"
        directory.mkdir()
        with live_site(directory) as site:
            _start_and_stop(site)  # static files are collected, modules are compiled
            starts, bare_starts = [], []
            for _ in range(STARTS):
                starts.append(_start_and_stop(site)[0])
                bare_starts.append(_bare()[0])
            bare = median(bare_starts)
            record("start to /healthz", median(starts), goal=GOAL_S, unit="s", bare=bare)
            _, held = _start_and_stop(site, rest_s=REST_S)
            record("memory at rest", held, goal=GOAL_MB, unit="MB", bare=_bare()[1])


def _start_and_stop(site: Site, rest_s: float = 0) -> tuple[float, float]:
    """Seconds until it is healthy, and megabytes of all its processes after a rest."""
    served = Served(site)
    begun = time.perf_counter()
    served.start()
    try:
        while not served.is_well():
            time.sleep(0.02)
        taken = time.perf_counter() - begun
        time.sleep(rest_s)
        return taken, sum(map(_megabytes, processes_of(site)))
    finally:
        served.stop()
        served.kill()


def _bare() -> tuple[float, float]:
    """The same of a process that imports packages and nothing of the site."""
    begun = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", f"{BARE}\nprint(flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        taken = time.perf_counter() - begun
        held = _megabytes(process.pid)
        process.communicate(b"\n")
    return taken, held


def _megabytes(pid: int) -> float:
    """Proportional set size: what processes share counts for each of them in part."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1000
    return 0.0
