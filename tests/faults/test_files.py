"""A store that is full or gone at any write, uploads that break off, runs of large pictures."""

import io
import itertools
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runs.imports.storing import StoringError, import_bundle
from runs.models import ImportJob, Run
from runs.operations.blob_checks import orphan_files
from runs.storage.file_storage import StoreUnavailableError, blob_storage
from tests.faults.findings import Findings
from tests.faults.large_runs import large_bundle
from tests.runs.factories import make_user
from tests.runs.imports.test_storing import rows
from tests.runs.storage.s3_server import any_store, credentials
from tests.runs.storage.stores import files_in, use_store
from tests.webagent.trajectory.samples import run_bundle

__all__ = ["any_store", "credentials"]
pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests files"), pytest.mark.slow]
BOUNDARY = "cut-here"
CUTS = 20


class FailsAt:
    """Stands for `put`: the k-th call and all after it raise."""

    def __init__(self, real: Any, at: int, error: Exception) -> None:
        self.real, self.at, self.error = real, at, error
        self.numbers = itertools.count(1)  # counts right from several threads at once
        self.n = 0

    def __call__(self, *what: Any) -> bool:
        self.n = next(self.numbers)
        if self.n >= self.at:
            raise self.error
        was_there: bool = self.real(*what)
        return was_there


@pytest.mark.fault(9, "the k-th write to the store fails, for every k, on disk and in a bucket")
def test_a_store_that_fails_at_any_write_leaves_nothing(
    any_store: Any, monkeypatch: pytest.MonkeyPatch, findings: Findings, client: Any
) -> None:
    before = rows()
    full = OSError(28, "No space left on device")
    gone = StoreUnavailableError("it does not answer")
    put, findings.times = any_store.put, 0
    for k in range(1, 100):
        failing = FailsAt(put, k, gone if k % 2 else full)
        monkeypatch.setattr(any_store, "put", failing)
        try:
            import_bundle(run_bundle(1))
            break
        except StoreUnavailableError as refusal:
            told = str(refusal)
        except StoringError as refusal:
            told = str(refusal)
        findings.times += 1
        if told != ("it does not answer" if k % 2 else "the disk is full"):
            findings.complain([f"write {k}: it says {told}"])
        if rows() != before:
            findings.complain([f"write {k}: rows are left"])
    assert failing.n < k
    assert findings.times > 8
    client.force_login(make_user())
    assert client.get("/runs/").status_code == 200
    assert list(orphan_files()) == []  # what was written before the failure was taken up
    findings.check()
    assert not Run.objects.filter(n_steps=0).exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KB; without the right to mount one, a test cannot have it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        folder = Path("/dev/full")
    yield folder
    if folder.is_dir():
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.fault(9, "a disk of 64 KB fills up while runs are imported")
def test_a_disk_that_is_full(small_disk: Path, settings: Any, client: Any) -> None:
    store = use_store(settings, small_disk)
    client.force_login(make_user())
    stored: list[dict[str, int]] = [rows()]

    def fill() -> None:
        for number in range(100):
            import_bundle(large_bundle(n_steps=2, seed=number, width=60))
            stored.append(rows())

    with pytest.raises(StoringError, match="the disk is full|cannot be written") as refusal:
        fill()
    if small_disk.is_dir():
        assert str(refusal.value) == "the disk is full"
        assert len(stored) > 1
        assert not [path for path in files_in(store) if path.name.endswith(".part")]
        assert client.get("/runs/").status_code == 200
        assert blob_storage().free_bytes() is not None
    assert rows() == stored[-1]
    assert Run.objects.count() == len(stored) - 1


def form(content: bytes) -> bytes:
    """A form of the page of imports, as a browser sends it."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="format"\r\n\r\nauto\r\n'
    head += f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="experiment_name"\r\n\r\n\r\n'
    head += f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.zip"\r\n'
    head += "Content-Type: application/zip\r\n\r\n"
    return head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()


@pytest.mark.fault(10, "an upload of 3 MB breaks off at 20 places")
def test_uploads_that_break_off_leave_nothing(
    settings: Any, tmp_path: Path, client: Any, findings: Findings
) -> None:
    settings.UPLOAD_DIR, settings.FILE_UPLOAD_TEMP_DIR = tmp_path / "uploads", tmp_path / "parts"
    settings.UPLOAD_DIR.mkdir()
    settings.FILE_UPLOAD_TEMP_DIR.mkdir()
    client.force_login(make_user())
    body = form(b"PK\x03\x04" + bytes(3 << 20))
    findings.times = CUTS
    for cut in range(CUTS):
        answer = client.generic(
            "POST",
            "/imports/",
            **{
                "CONTENT_TYPE": f"multipart/form-data; boundary={BOUNDARY}",
                "wsgi.input": io.BytesIO(body[: len(body) * cut // CUTS]),
                "CONTENT_LENGTH": str(len(body)),
            },
        )
        if answer.status_code < 400:
            findings.complain([f"cut {cut}: it was answered with {answer.status_code}"])
        left = [*settings.UPLOAD_DIR.iterdir(), *settings.FILE_UPLOAD_TEMP_DIR.iterdir()]
        if left or ImportJob.objects.exists():
            findings.complain([f"cut {cut}: something is left"])
    findings.check()


@pytest.mark.fault(16, "a run of 10 and one of 60 steps with pictures are imported")
def test_a_long_run_takes_no_more_queries(
    settings: Any, tmp_path: Path, django_assert_max_num_queries: Any
) -> None:
    use_store(settings, tmp_path / "blobs")
    counted = []
    for n_steps in (10, 60):
        bundle = large_bundle(n_steps=n_steps, seed=n_steps, width=40)
        with django_assert_max_num_queries(200) as queries:
            import_bundle(bundle)
        counted.append(len(queries))
    # Rows go in batches, of which a longer run has a few more.
    assert counted[1] - counted[0] <= 4, counted
