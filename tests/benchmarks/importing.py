"""Importing runs of 15 steps with screenshots of 100 KB, against the bare way of writing the same.

Bare is one process with what no import of the archive can leave out: its steps and pictures are
read, held to their hashes, written aside, named, and made sure of on the disk for 20 runs
together, before bare rows of runs, steps and files are committed. Both take turns on the same
disk: that of the temporary folder. Measured until a run can be opened; thumbnails follow in the
background and are measured apart. `BENCHMARK_RUNS` says how many runs. Nothing is deleted before
the end: for minutes ext4 looks for other inodes than those just given back, and a new file takes
ten times as long.
"""

import hashlib
import io
import json
import os
import resource
import sqlite3
import struct
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

import numpy
from PIL import Image

from runs.imports.storing import ImportedRun, import_runs
from runs.imports.thumbnailing import make_thumbnails
from runs.storage.file_storage import BlobFileStorage
from tests.benchmarks.clock import processor_seconds, tell
from tests.benchmarks.goals import lowered, record
from webagent.trajectory.blobs import BlobStash
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.native.writer import write_zip
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

RUNS = int(os.environ.get("BENCHMARK_RUNS", "200"))
TURNS, TOGETHER, THUMBNAILS_S = 5, 20, 10
GOAL_RUNS, GOAL_SHARE = 100, 60
STEPS = 15
WIDTH, HEIGHT = 1280, 720
THOUGHT = "The next order is further down the list. " * 8


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        ours, bare = [], []
        for turn in range(TURNS):
            archive = Path(folder) / f"{turn}.zip"
            write_zip(archive, _bundles(turn))
            ours.append(_import(archive))
            place = Path(folder) / f"bare {turn}"
            place.mkdir()
            bare.append(_bare(place, archive))
        start = time.perf_counter()
        made = make_thumbnails(limit_s=THUMBNAILS_S)
        after = (time.perf_counter() - start) / made
    length, work = map(median, zip(*ours, strict=True))
    least, least_work = map(median, zip(*bare, strict=True))
    what = f"import of a run of {STEPS} steps, {len(_picture()) // 1000} KB each"
    record(what, 1 / length, goal=lowered(GOAL_RUNS), unit="runs/s", bare=1 / least, is_most=False)
    record("  of the bare scheme", 100 * least / length, goal=GOAL_SHARE, unit="%", is_most=False)
    tell("  its work, of two processes", work * 1000, least_work * 1000, "ms of processor")
    tell("  its thumbnails", after * STEPS * 1000, least * 1000, "ms")


def _import(archive: Path) -> tuple[float, float]:
    """Seconds of a run, and of processors for it."""
    start, work = time.perf_counter(), _work()
    with open_runs(archive) as source:
        found = import_runs(source, thumbnails_follow=True)
        stored = sum(isinstance(item, ImportedRun) and item.is_new for item in found)
    if stored != RUNS:
        raise RuntimeError(f"{stored} of {RUNS} runs were imported")
    return (time.perf_counter() - start) / RUNS, (_work() - work) / RUNS


def _work() -> float:
    """Seconds of processors, of the database's process and of children that have ended too."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return processor_seconds() + ended.ru_utime + ended.ru_stime


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


def _bundles(turn: int) -> Iterator[RunBundle]:
    png = _picture()
    for number in range(turn * RUNS, (turn + 1) * RUNS):
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


def _bare(folder: Path, archive: Path) -> tuple[float, float]:
    """Seconds of a run, and of processors for it."""
    for number in range(256):
        (folder / f"{number:02x}").mkdir()
    database = sqlite3.connect(folder / "bare.sqlite3")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE row (id TEXT PRIMARY KEY, run TEXT, number INTEGER, text TEXT)")
    sync = BlobFileStorage(location=folder).sync
    start, work = time.perf_counter(), _work()
    with zipfile.ZipFile(archive) as source, source.open("steps.jsonl") as lines:
        runs = groupby(map(json.loads, lines), itemgetter("run_id"))
        while some := [(run, list(steps)) for run, steps in islice(runs, TOGETHER)]:
            written = {run: _write(folder, source, steps) for run, steps in some}
            sync({path: True for paths in written.values() for path in paths})
            for run, steps in some:
                rows = [(f"{run}/{step['index']}", run, step["index"], THOUGHT) for step in steps]
                files = [(path, run, 0, "") for path in written[run]]
                database.executemany(
                    "INSERT INTO row VALUES (?, ?, ?, ?)", [(run, "", 0, ""), *rows, *files]
                )
                database.commit()
    found = (time.perf_counter() - start) / RUNS, (_work() - work) / RUNS
    database.close()
    return found


def _write(folder: Path, source: zipfile.ZipFile, steps: list[Any]) -> list[str]:
    """The files of a run, each whole under its name; nothing makes sure of them yet."""
    paths = []
    for step in steps:
        named = step["before"]["screenshot"]["sha256"]
        content = source.read(f"blobs/{named[:2]}/{named}.png")
        if hashlib.sha256(content).hexdigest() != named:
            raise RuntimeError(f"{named} is damaged")
        path = folder / named[:2] / named
        aside = path.with_suffix(".part")
        aside.write_bytes(content)
        aside.rename(path)
        paths.append(str(path))
    return paths
