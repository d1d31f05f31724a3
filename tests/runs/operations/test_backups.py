"""What is backed up comes back: every row, every file, also what was written meanwhile."""

import json
import secrets
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from runs.models import Blob, Run, Step
from runs.operations.backups import back_up, copy_new_files, restore, snapshots
from runs.operations.database_dumps import BackupError
from runs.storage.file_storage import blob_storage
from tests.runs.factories import make_run, make_text, make_user
from tests.runs.live_workers import live_site
from tests.runs.operations.integrity import everything_holds
from tests.runs.storage.stores import files_in, use_store


@pytest.fixture(scope="module")
def place(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A site with a database of its own, which may be thrown away, and its folder."""
    folder = tmp_path_factory.mktemp("backups")
    (folder / "data").mkdir()
    with django_db_blocker.unblock(), live_site(folder / "data"):
        yield folder


def a_run(steps: int) -> Run:
    """One that has ended, with its steps at once, as an import leaves it."""
    with transaction.atomic():
        return make_run(steps=steps, content_hash=secrets.token_hex(32))


def rows() -> dict[str, list[Any]]:
    """Content of the tables that matter most, with the files behind it."""
    return {
        "runs": list(Run.objects.order_by("pk").values_list("pk", "goal", "content_hash")),
        "steps": list(
            Step.objects.order_by("pk").values_list("pk", "action", "screenshot", "tree")
        ),
        "blobs": list(Blob.objects.order_by("pk").values_list("pk", "size", "thumbnail")),
    }


@pytest.mark.slow
def test_all_comes_back_after_everything_is_gone(place: Path, settings: Any):
    store = use_store(settings, place / "store")
    kept = place / "kept"
    make_user("annotator", "somebody")
    a_run(3)
    call_command("back_up", kept)
    a_run(2)
    make_text("of which there is much " * 200)
    expected, content = rows(), {path.name: path.read_bytes() for path in files_in(store)}
    call_command("back_up", kept, keep=1)
    (made,) = snapshots(kept)
    assert 0 < made.n_new_files < len(content)  # what was there was not copied again
    assert made.rows["runs_run"] == 2

    a_run(1)  # has come since, and is lost
    shutil.rmtree(store)
    with pytest.raises(CommandError, match="holds runs or accounts"):
        call_command("restore_backup", kept)
    call_command("restore_backup", kept, overwrite=True)
    assert rows() == expected
    assert {path.name: path.read_bytes() for path in files_in(store)} == content
    call_command("check_integrity", hashes=True)
    a_run(1)  # sequences and triggers are back, too
    everything_holds()


@pytest.mark.slow
def test_what_is_written_meanwhile_is_whole_or_not_there(place: Path, settings: Any):
    use_store(settings, place / "busy")
    kept = place / "kept while busy"
    ended = threading.Event()

    def write() -> None:
        try:
            while not ended.is_set():
                a_run(2)
        finally:
            connection.close()

    restore(place / "kept", overwrite=True)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        made = back_up(kept)
    finally:
        ended.set()
        writer.join()
    shutil.rmtree(place / "busy")
    restore(kept, overwrite=True)
    assert Run.objects.count() == made.rows["runs_run"]
    everything_holds()


def test_files_that_vanish_meanwhile_are_no_fault(place: Path, settings: Any):
    store = use_store(settings, place / "shrinking")
    make_text("soon gone " * 50)

    found = list(blob_storage().walk())
    shutil.rmtree(store)
    emptied = type("Store", (), {"walk": lambda _self: iter(found), "open": _gone})()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("runs.operations.backups.blob_storage", lambda: emptied)
        assert copy_new_files(place / "copies") == (0, 0)


def _gone(*_: object) -> None:
    raise FileNotFoundError


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda kept: shutil.rmtree(kept / "snapshots"), "there is no snapshot in"),
        (lambda kept: shutil.rmtree(kept / "blobs"), "files are not in the backup"),
        (lambda kept: _change(kept, database="oracle"), "the backup is of oracle"),
        (lambda kept: _change(kept, rows={"runs_run": 99}), "runs_run had 99 rows"),
    ],
)
def test_a_backup_that_is_not_whole_is_refused(
    place: Path, settings: Any, tmp_path: Path, spoil: Any, words: str
):
    use_store(settings, tmp_path / "store")
    spoiled = tmp_path / "spoiled"
    a_run(1)
    back_up(spoiled)
    spoil(spoiled)
    with pytest.raises(BackupError, match=words):
        restore(spoiled, overwrite=True)


def _change(kept: Path, **values: Any) -> None:
    manifest = max(kept.glob("snapshots/*/manifest.json"))
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | values))
