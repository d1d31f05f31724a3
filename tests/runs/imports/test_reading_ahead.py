"""A process beside the import reads ahead; whatever becomes of it, all runs are stored."""

import hashlib
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from django.db import IntegrityError, transaction

from runs.imports import reading_ahead, together
from runs.imports.reading_ahead import ReadingAhead, ReadRun, can_read_ahead
from runs.imports.storing import ImportedRun, import_runs
from runs.models import Attachment, Blob, Experiment, Run, Step
from runs.storage import blobs, file_storage
from runs.storage.blobs import BlobBatch, read_blob, storage_name
from tests.runs.storage.stores import files_in, use_store
from tests.webagent.trajectory.samples import run_bundle
from webagent.process.children import sweep
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.native.writer import write_folder
from webagent.trajectory.intake import Problem, Rejection
from webagent.trajectory.reading import open_runs

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("store"),
    pytest.mark.sqlite_only("processes and files; test_import_runs.py imports on both"),
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks without ado"),
    pytest.mark.slow,
]
N_RUNS = 8


@pytest.fixture(autouse=True)
def ahead(monkeypatch):
    monkeypatch.setattr(reading_ahead, "FEWEST_RUNS", 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


@pytest.fixture(autouse=True)
def nothing_left(tmp_path, monkeypatch) -> Iterator[None]:
    """No process and no folder of it outlives an import."""
    mine = tmp_path / "temporary"  # tests beside these import, too
    mine.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(mine))
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    assert not temporary()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path / "runs", [run_bundle(n) for n in range(N_RUNS)])
    broken = tmp_path / "runs" / "labels.jsonl"
    broken.write_bytes(broken.read_bytes() + b"{oops\n")
    return tmp_path / "runs"


def temporary() -> set[str]:
    return {path.name for path in Path(tempfile.gettempdir()).glob(f"{reading_ahead.FOLDER}*")}


def imported(folder: Path, experiment: str | None = None) -> list[ImportedRun | Problem]:
    with open_runs(folder) as source:
        return list(import_runs(source, experiment_name=experiment, thumbnails_follow=True))


def told(found: list[ImportedRun | Problem]) -> list[tuple[object, ...]]:
    return [
        (type(item), item.source, getattr(item, "reason", ""), getattr(item, "is_new", None))
        for item in found
    ]


def in_the_other(monkeypatch, at: int, do: Callable[[RunBundle], object]) -> None:
    """Have the other process do something when it has read its n-th run."""
    light, read = reading_ahead._light, []

    def and_do(bundle: RunBundle) -> RunBundle:
        read.append(bundle)
        if len(read) == at:
            do(bundle)
        return light(bundle)

    monkeypatch.setattr(reading_ahead, "_light", and_do)


def stored() -> dict[str, list[tuple[object, ...]]]:
    return {
        "runs": sorted(Run.objects.values_list("content_hash", "n_steps", "n_screenshots")),
        "steps": sorted(Step.objects.values_list("run__content_hash", "index", "screenshot")),
        "files": sorted(Attachment.objects.values_list("run__content_hash", "role", "blob")),
        "blobs": sorted(Blob.objects.values_list("pk", "media_type", "stored_size")),
    }


def nothing_wanted(bundles: Sequence[RunBundle]) -> list[set[str] | Exception]:
    return [set() for _ in bundles]


def n_new(found: list[ImportedRun | Problem]) -> int:
    return sum(isinstance(item, ImportedRun) and item.is_new for item in found)


def test_it_stores_what_one_process_alone_stores(settings, folder, tmp_path, monkeypatch):
    with monkeypatch.context() as patched, transaction.atomic():
        patched.setattr(reading_ahead, "FEWEST_RUNS", 1000)
        alone, by_alone = told(imported(folder)), stored()
        transaction.set_rollback(True)
    assert not Run.objects.exists()
    store = use_store(settings, tmp_path / "other blobs")
    assert told(imported(folder)) == alone
    assert stored() == by_alone
    assert len(alone) > N_RUNS, "a problem is told among the runs"
    assert len(files_in(store)) == Blob.objects.count()
    for blob in Blob.objects.all():
        assert hashlib.sha256(read_blob(blob)).hexdigest() == blob.pk


def test_the_same_again_writes_nothing(folder, monkeypatch):
    imported(folder)
    in_the_other(monkeypatch, 1, lambda _: monkeypatch.setattr(BlobBatch, "add", None))
    again = imported(folder)
    assert n_new(again) == 0
    assert not any(isinstance(item, Rejection) for item in again)
    assert Run.objects.count() == N_RUNS


@pytest.mark.fault(1, "the process that reads ahead of an import is killed")
@pytest.mark.parametrize("at", [1, 4, N_RUNS])
def test_one_that_is_killed_is_done_without(folder, monkeypatch, at):
    in_the_other(monkeypatch, at, lambda _: os.kill(os.getpid(), signal.SIGKILL))
    assert n_new(imported(folder)) == N_RUNS
    assert Run.objects.count() == N_RUNS


def test_what_a_killed_import_left_behind_goes_with_the_next(folder):
    left = Path(tempfile.mkdtemp(prefix=reading_ahead.FOLDER))
    (left / "part").write_text("half a file")
    imported(folder)
    assert not left.exists()


@pytest.mark.fault(1, "the process that reads ahead of an import hangs")
def test_one_that_says_nothing_is_done_without(folder, monkeypatch):
    monkeypatch.setattr(reading_ahead, "PATIENCE_S", 0.5)
    in_the_other(monkeypatch, 3, lambda _: time.sleep(600))
    assert n_new(imported(folder)) == N_RUNS


def test_one_that_breaks_is_done_without(folder, monkeypatch):
    def break_it(_: RunBundle) -> None:
        raise MemoryError

    in_the_other(monkeypatch, 2, break_it)
    assert n_new(imported(folder)) == N_RUNS


def test_one_that_says_what_cannot_be_read_is_done_without(folder, monkeypatch):
    class UnreadableError(Exception):
        def __init__(self, one: str, other: str) -> None:
            super().__init__(one)

    def refuse(*_: object) -> BlobBatch:
        raise UnreadableError("a", "b")

    monkeypatch.setitem(globals(), "UnreadableError", UnreadableError)
    UnreadableError.__qualname__ = "UnreadableError"
    in_the_other(
        monkeypatch, 2, lambda _: monkeypatch.setattr(reading_ahead, "write_files", refuse)
    )
    assert n_new(imported(folder)) == N_RUNS


@pytest.mark.fault(9, "the disk fills up under the process that writes an import's files")
def test_a_full_disk_refuses_the_runs_whose_files_found_no_room(settings, folder, tmp_path):
    use_store(settings, tmp_path / "full", fails_at=20)
    found = imported(folder)
    refused = [item for item in found if isinstance(item, Rejection)]
    assert {item.reason for item in refused} == {"the disk is full"}
    assert n_new(found) + len(refused) == N_RUNS
    assert 0 < Run.objects.count() == n_new(found)
    use_store(settings, tmp_path / "full")
    assert n_new(imported(folder)) == len(refused)


@pytest.mark.fault(9, "the disk breaks while an import's files are synced")
def test_files_that_cannot_be_synced_refuse_their_runs(folder, store, monkeypatch):
    def break_down(*_):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(file_storage, "_syncfs", break_down)
        broken.setattr(os, "fsync", break_down)
        found = imported(folder)
    assert n_new(found) == 0
    assert {item.reason for item in found if isinstance(item, Rejection)} == {
        "a file cannot be written: [Errno 5] Input/output error"
    }
    assert files_in(store) == []
    assert n_new(imported(folder)) == N_RUNS


@pytest.mark.parametrize("name", ["AHEAD", "AHEAD_BYTES", "UNSTORED", "AT_ONCE"])
def test_neither_process_waits_for_ever_however_little_it_may_have_in_hand(
    folder, monkeypatch, name
):
    monkeypatch.setattr(reading_ahead, name, 1)
    monkeypatch.setattr(reading_ahead, "PATIENCE_S", 10)
    monkeypatch.setattr(reading_ahead.logger, "warning", pytest.fail)
    assert n_new(imported(folder)) == N_RUNS


def test_what_is_over_a_quota_is_refused_before_its_files_are_written(folder, store, monkeypatch):
    monkeypatch.setattr(reading_ahead, "UNSTORED", 2)
    Experiment.objects.create(name="small", max_runs=3)
    found = imported(folder, experiment="small")
    assert n_new(found) == 3
    assert sum(isinstance(item, Rejection) for item in found) == N_RUNS - 3
    # Runs that were read before the third was stored may have theirs.
    beside = len(files_in(store)) - Blob.objects.count()
    assert beside <= reading_ahead.UNSTORED * 8


def test_a_run_that_others_got_in_the_way_of_is_read_once_more(folder, monkeypatch):
    saved = []

    def save(batch: BlobBatch) -> None:
        saved.append(batch)
        if 3 <= len(saved) <= 5:
            raise IntegrityError("a file that was there is gone")
        write(batch)

    def refuse(_: object) -> None:
        raise IntegrityError("each is tried by itself")

    write = BlobBatch.save
    monkeypatch.setattr(BlobBatch, "save", save)
    monkeypatch.setattr(together, "save_together", refuse)
    assert n_new(imported(folder)) == N_RUNS
    assert len({id(batch) for batch in saved[2:5]}) == 1, "three tries with the same files"
    assert saved[5] is not saved[2]


def test_a_reader_that_loses_interest_ends_it(folder):
    with open_runs(folder) as source:
        found = import_runs(source)
        assert isinstance(found, Generator)
        next(item for item in found if isinstance(item, ImportedRun))
        found.close()


def test_its_bytes_are_found_in_the_store(folder):
    with open_runs(folder) as source, ReadingAhead(source, nothing_wanted) as ahead:
        runs = [item for some in ahead for item in some if isinstance(item, ReadRun)]
    imported(folder)
    for run in runs:
        for blob in run.bundle.blob_records():
            assert len(run.bundle.read_blob(blob.sha256)) == blob.bytes


@pytest.mark.parametrize(
    ("name", "value"), [("FEWEST_RUNS", N_RUNS + 1), ("blob_storage", lambda: object())]
)
def test_few_runs_and_stores_elsewhere_are_for_one_process(folder, monkeypatch, name, value):
    with open_runs(folder) as source:
        assert can_read_ahead(source)
        monkeypatch.setattr(reading_ahead, name, value)
        assert not can_read_ahead(source)


def test_one_processor_is_for_one_process(folder, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    with open_runs(folder) as source:
        assert not can_read_ahead(source)


def test_files_are_on_disk_before_rows_name_them(folder, store, monkeypatch):
    """What a cut of the power would leave, looked at whenever rows are about to be committed."""
    on_disk = folder.parent / "on disk"

    def sync(descriptor: int) -> None:
        there = {path.name for path in files_in(store)}
        os.fsync(descriptor)
        with on_disk.open("a") as file:
            file.writelines(f"{name}\n" for name in there)

    def save(batches: Sequence[BlobBatch]) -> None:
        names = set(on_disk.read_text().split())
        rows = [row for batch in batches for row in batch.rows.values()]
        assert {Path(storage_name(row)).name for row in rows} <= names
        saved.extend(batches)
        write(batches)

    saved: list[BlobBatch] = []
    write = blobs.save_together
    monkeypatch.setattr(file_storage, "_syncfs", sync)
    monkeypatch.setattr(file_storage, "FEW", 0)
    for module in (blobs, together):
        monkeypatch.setattr(module, "save_together", save)
    assert n_new(imported(folder)) == len(saved) == N_RUNS


def test_what_is_written_during_a_sync_is_synced_together(folder, monkeypatch):
    at_once: list[int] = []
    said: list[object] = []
    begun, may_end = threading.Event(), threading.Event()

    def sync(batches: Iterable[BlobBatch]) -> None:
        at_once.append(len(list(batches)))
        begun.set()
        may_end.wait(10)

    monkeypatch.setattr(reading_ahead, "sync_together", sync)
    broken = OSError("no room")
    with reading_ahead._GroupSync(said.append) as written:
        first, *others = [BlobBatch() for _ in range(4)]
        written.add(first)
        begun.wait(10)
        written.add(others[0])
        written.add(others[1])
        written.add(broken)
        written.add(others[2])
        assert said == []
        may_end.set()
    assert at_once == [1, 3]
    assert said == [first, others[0], others[1], broken, others[2]]


@pytest.mark.fault(1, "an import is killed while another process reads ahead of it")
def test_it_ends_with_an_import_that_is_killed(folder, monkeypatch):
    in_the_other(monkeypatch, 2, lambda _: time.sleep(600))
    ours, theirs = os.pipe()
    importing = os.fork()
    if not importing:
        with open_runs(folder) as source, ReadingAhead(source, nothing_wanted) as ahead:
            os.write(theirs, str(ahead._child).encode())
            time.sleep(600)
    reading = Path("/proc", os.read(ours, 20).decode())
    assert reading.exists()
    os.kill(importing, signal.SIGKILL)
    os.waitpid(importing, 0)
    for _ in range(3000):  # turns, as the clock of a machine that was halted leaps
        sweep(reading_ahead.FOLDER)  # as the next import does
        if not temporary():
            break
        time.sleep(0.02)
    else:
        pytest.fail(f"It holds its folder: {(reading / 'status').read_text()}")
