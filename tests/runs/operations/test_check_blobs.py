"""check_blobs finds what is damaged, missing or left over, and deletes only what is old."""

import os
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import call_command

from runs.models import Blob, Run
from runs.storage.blobs import read_blob, storage_name
from tests.runs.factories import delete_run, make_picture, make_run
from tests.runs.storage.stores import files_in, store_blob

pytestmark = pytest.mark.django_db
LONG_AGO = time.time() - 10 * 24 * 3600


def check(capsys: Any, *options: str) -> tuple[Any, str]:
    """Exit code and output of the command."""
    try:
        call_command("check_blobs", *options)
    except SystemExit as stop:
        return stop.code, capsys.readouterr().out
    return 0, capsys.readouterr().out


def make_old(*blobs: Blob) -> None:
    Blob.objects.filter(pk__in=[blob.pk for blob in blobs]).update(created_at="2026-01-01T00:00Z")


def test_all_is_well(store, capsys):
    make_run(steps=2)
    code, said = check(capsys)
    assert code == 0
    assert "Checked 6 blobs" in said
    assert "Damaged or missing: 0." in said
    assert "0 files without a row, 0 blobs that no run refers to" in said


def test_changed_bytes_are_found(store, capsys):
    run: Any = make_run(steps=1)
    blob = run.steps.get().screenshot
    path = store / storage_name(blob)
    path.write_bytes(path.read_bytes()[:-1] + b"X")
    code, said = check(capsys)
    assert code == 1
    assert f"{blob.pk}: its bytes are no longer those that its hash names" in said


def test_missing_and_cut_files_are_found(store, capsys):
    step: Any = make_run(steps=1).steps.get()
    (store / storage_name(step.screenshot)).unlink()
    tree = store / storage_name(step.tree)
    tree.write_bytes(tree.read_bytes()[:5])
    code, said = check(capsys)
    assert code == 1
    assert said.count("is gone or damaged") + said.count("bytes instead of") == 2
    assert "Damaged or missing: 2." in said


def test_files_without_rows_are_listed_and_harmless(store, capsys):
    name = default_storage.save("ab/cd/abcd", ContentFile(b"left by a killed process"))
    code, said = check(capsys)
    assert code == 0
    assert "1 files without a row" in said
    assert name in said
    assert len(files_in(store)) == 1


def test_orphans_are_deleted_only_after_the_grace_period(store, capsys):
    old = default_storage.save("ab/cd/abcd", ContentFile(b"old"))
    os.utime(store / old, (LONG_AGO, LONG_AGO))
    new = default_storage.save("ef/ab/efab", ContentFile(b"just written by an import"))
    code, said = check(capsys, "--delete-orphans")
    assert (code, "Deleted: 1." in said) == (0, True)
    assert [path.relative_to(store).as_posix() for path in files_in(store)] == [new]


def test_unfinished_files_of_killed_processes_are_deleted(store, capsys):
    part = store / "ab" / "abcd.0123.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"half")
    os.utime(part, (LONG_AGO, LONG_AGO))
    check(capsys, "--delete-orphans")
    assert files_in(store) == []


def test_blobs_of_deleted_runs_go_with_their_files(store, capsys):
    run, kept = make_run(steps=1), make_run(steps=1)
    picture: Any = run.steps.get().screenshot
    make_old(*Blob.objects.all())
    for file in files_in(store):
        os.utime(file, (LONG_AGO, LONG_AGO))
    delete_run(run)
    check(capsys, "--delete-orphans")
    check(capsys, "--delete-orphans")  # the thumbnail is free once its picture is gone
    assert not Blob.objects.filter(pk=picture.pk).exists()
    assert not Blob.objects.filter(pk=picture.thumbnail_id).exists()
    step: Any = kept.steps.get()
    assert {blob.pk for blob in Blob.objects.all()} >= {step.screenshot_id, step.tree_id}
    assert len(files_in(store)) == Blob.objects.count()
    assert check(capsys)[0] == 0


def test_a_new_blob_that_no_run_has_yet_stays(store, capsys):
    blob = make_picture("of a run that is still being imported")
    check(capsys, "--delete-orphans")
    assert read_blob(blob)


def test_a_file_that_a_writer_renews_meanwhile_is_put_back(store, monkeypatch):
    name = default_storage.save("ab/cd/abcd", ContentFile(b"content"))
    path = store / name
    os.utime(path, (LONG_AGO, LONG_AGO))
    move = type(path).rename

    def renewed_just_before(self, target):
        os.utime(self)
        return move(self, target)

    monkeypatch.setattr(type(path), "rename", renewed_just_before)
    before = datetime.fromtimestamp(LONG_AGO + 60, tz=UTC)
    storage: Any = default_storage
    assert not storage.delete_if_older(name, before)
    assert files_in(store) == [path]


def test_shared_pictures_stay_while_one_run_has_them(store, capsys):
    picture: Any = make_picture("shared")
    first, second = (make_run(steps=[{"screenshot": picture}]) for _ in range(2))
    delete_run(first)
    make_old(*Blob.objects.all())
    check(capsys, "--delete-orphans")
    assert Run.objects.get().steps.get().screenshot == picture
    assert read_blob(picture)
    assert second


def test_content_stored_twice_survives_a_check_in_between(store, capsys):
    blob: Any = store_blob(b"text " * 100, "text/plain")
    make_old(blob)
    os.utime(store / storage_name(blob), (LONG_AGO, LONG_AGO))
    check(capsys, "--delete-orphans")
    assert not Blob.objects.exists()
    assert read_blob(store_blob(b"text " * 100, "text/plain")) == b"text " * 100
