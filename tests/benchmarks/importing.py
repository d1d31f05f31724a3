"""Importing runs of 15 steps with screenshots of 100 KB, against writing the same files and rows.

Measured until a run can be opened; thumbnails follow in the background and are measured apart.
`BENCHMARK_RUNS` says how many runs.
"""

from __future__ import annotations

import hashlib
import io
import os
import sqlite3
import struct
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy
from PIL import Image

from runs.imports.storing import ImportedRun, import_runs
from runs.imports.thumbnailing import make_thumbnails
from tests.benchmarks.clock import tell
from webagent.trajectory.bundles import BlobStash, RunBundle
from webagent.trajectory.native.writer import write_zip
from webagent.trajectory.reading import open_runs
from webagent.trajectory.records import (
    ActionRecord,
    AgentRecord,
    BlobRecord,
    Observation,
    RunRecord,
    SourceRecord,
    StepRecord,
    TaskRecord,
    TaskSetRecord,
    TextPart,
)

RUNS = int(os.environ.get("BENCHMARK_RUNS", "300"))
STEPS = 15
WIDTH, HEIGHT = 1280, 720
THOUGHT = "The next order is further down the list. " * 8


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "runs.zip"
        write_zip(archive, _bundles())
        start = time.perf_counter()
        with open_runs(archive) as source:
            found = import_runs(source, thumbnails_follow=True)
            stored = [item for item in found if isinstance(item, ImportedRun)]
        ours = (time.perf_counter() - start) / len(stored)
        start = time.perf_counter()
        made = make_thumbnails()
        after = time.perf_counter() - start
        bare = _bare(Path(folder))
    size = len(_picture()) // 1000
    what = f"import of a run of {STEPS} steps, {size} KB each ({1 / ours:.0f} runs/s"
    tell(f"{what}, bare {1 / bare:.0f})", ours * 1000, bare * 1000, "ms")
    tell(f"its thumbnails ({made / after:.0f} a second)", after / RUNS * 1000, bare * 1000, "ms")


def _picture() -> bytes:
    """Like a page: flat areas, and rows of something like text."""
    draw = numpy.random.default_rng(7)
    pixels = numpy.full((HEIGHT, WIDTH, 3), 250, dtype=numpy.uint8)
    pixels[:60] = (30, 60, 120)
    for top in range(80, HEIGHT - 20, 18):
        ink = draw.random((11, WIDTH)) < 0.35
        pixels[top : top + 11][ink] = 40
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def _numbered(png: bytes, number: int) -> bytes:
    """The same picture as another file: with a text chunk before its end."""
    data = b"tEXtComment\0" + str(number).encode()
    chunk = struct.pack(">I", len(data) - 4) + data + struct.pack(">I", zlib.crc32(data))
    return png[:-12] + chunk + png[-12:]


def _bundles() -> Iterator[RunBundle]:
    png = _picture()
    for number in range(RUNS):
        stash = BlobStash()
        steps = [
            _step(number, index, stash, _numbered(png, number * STEPS + index))
            for index in range(STEPS)
        ]
        yield RunBundle(
            source=f"run-{number}",
            task=_task(number % 50),
            run=RunRecord(
                id=f"run-{number}",
                task_id=f"task-{number % 50}",
                source=SourceRecord(format="benchmark"),
                agent=AgentRecord(name="benchmark agent"),
                final_answer=f"Order {number}",
            ),
            steps=tuple(steps),
            blobs=stash,
        )


def _task(number: int) -> TaskRecord:
    return TaskRecord(
        id=f"task-{number}",
        task_set=TaskSetRecord(name="benchmark", version="1"),
        external_id=str(number),
        goal=(TextPart(text=f"Find order {number}."),),
    )


def _step(run: int, index: int, stash: BlobStash, png: bytes) -> StepRecord:
    shot = BlobRecord(
        sha256=stash.add_bytes(png), media_type="image/png", bytes=len(png), role="screenshot"
    )
    return StepRecord(
        run_id=f"run-{run}",
        index=index,
        before=Observation(url=f"http://shop.test/{index}", screenshot=shot),
        thought=THOUGHT,
        actions=(ActionRecord(raw=f"click('{index}')", dialect="browsergym"),),
    )


def _bare(folder: Path) -> float:
    """Seconds a run: the same files, each safe on disk, and bare rows with one commit."""
    png = _picture()
    database = sqlite3.connect(folder / "bare.sqlite3")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE row (id TEXT PRIMARY KEY, run TEXT, number INTEGER, text TEXT)")
    start = time.perf_counter()
    for number in range(RUNS):
        rows = [(str(number), "", 0, "")]
        for step in range(STEPS):
            content = _numbered(png, number * STEPS + step)
            name = hashlib.sha256(content).hexdigest()
            with (folder / name).open("wb") as file:
                file.write(content)
                os.fsync(file.fileno())
            rows += [(name, "", step, ""), (f"{number}/{step}", str(number), step, THOUGHT)]
        database.executemany("INSERT INTO row VALUES (?, ?, ?, ?)", rows)
        database.commit()
    length = time.perf_counter() - start
    database.close()
    return length / RUNS
