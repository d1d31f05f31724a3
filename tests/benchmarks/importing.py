"""Importing the demo's runs, against copying their bytes and inserting as many bare rows."""

from __future__ import annotations

import sqlite3
import tempfile
import time
import zipfile
from pathlib import Path

from judging.demo import RUNS_FILE
from runs.execution.storing import ImportedRun, import_runs
from tests.benchmarks.clock import seconds, tell
from webagent.trajectory.reading import open_runs


def run() -> None:
    start = time.perf_counter()
    with open_runs(RUNS_FILE) as source:
        stored = [item for item in import_runs(source) if isinstance(item, ImportedRun)]
    ours = time.perf_counter() - start
    steps = sum(item.n_steps for item in stored)
    bare = seconds(lambda: _bare(steps), times=3)
    tell(f"import of {len(stored)} runs, {steps} steps ({steps / ours:.0f} steps/s)", ours, bare)


def _bare(steps: int) -> None:
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(RUNS_FILE) as archive:
        archive.extractall(folder)
        with sqlite3.connect(Path(folder) / "bare.sqlite3") as database:
            database.execute("CREATE TABLE step (run TEXT, number INTEGER, action TEXT)")
            for number in range(steps):
                database.execute("INSERT INTO step VALUES (?, ?, ?)", ("run", number, "click"))
                database.commit()
