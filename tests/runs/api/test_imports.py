"""Whole runs pushed as an archive."""

import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from runs.imports.importing import import_upload
from runs.models import ImportJob, Run
from tests.runs.api.pushing import Pusher
from tests.runs.factories import make_user
from tests.webagent.trajectory.formats import zipped
from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory.formats.native.writer import write_folder, write_zip

pytestmark = pytest.mark.django_db


@pytest.fixture
def pusher(place: list[str]) -> Pusher:
    return Pusher(make_user("engineer"))


def archive(tmp_path: Path) -> bytes:
    path = tmp_path / "sent.zip"
    write_zip(path, [run_bundle(1), run_bundle(2)])
    return path.read_bytes()


def send(pusher: Pusher, content: bytes, kind: str = "application/zip", **headers: str) -> Any:
    return pusher.client.post("/api/v1/imports", content, content_type=kind, headers=headers)


@pytest.mark.slow
def test_an_archive_is_imported_in_the_background(pusher: Pusher, tmp_path: Path) -> None:
    answer = send(pusher, archive(tmp_path))
    assert answer.status_code == 202, answer.content
    assert answer.json()["state"] == "queued"
    import_upload(ImportJob.objects.get().pk)
    told = pusher.client.get(answer["Location"]).json()
    assert (told["state"], told["n_done"]) == ("finished", 2)
    assert {one["run"] for one in told["imported"]} == {str(run.pk) for run in Run.objects.all()}
    assert all(run.created_by == ImportJob.objects.get().created_by for run in Run.objects.all())


def test_files_that_nobody_reads_are_told_and_counted(
    pusher: Pusher, client: Client, tmp_path: Path
) -> None:
    path = tmp_path / "sent.zip"
    write_zip(path, [run_bundle(1)])
    with zipfile.ZipFile(path, "a") as sent:
        for number in range(300):
            sent.writestr(f"notes/{number:03}.txt", "mine")
    answer = send(pusher, path.read_bytes())
    job = ImportJob.objects.get()
    import_upload(job.pk)
    told = pusher.client.get(answer["Location"]).json()
    assert (told["unread"][0], len(told["unread"]), told["n_unread"]) == ("notes/000.txt", 200, 300)
    assert (told["problems"], len(told["imported"])) == ([], 1)
    client.force_login(job.created_by)
    page = client.get(reverse("runs:import_detail", args=[job.pk])).content.decode()
    assert "Left out (300): notes/000.txt" in page
    assert "notes/020.txt" not in page


def test_what_is_missing_is_told_as_on_the_page(pusher: Pusher, tmp_path: Path) -> None:
    folder = tmp_path / "sent"
    write_folder(folder, [run_bundle(1)])
    picture = next(folder.glob("blobs/*/*.png"))
    picture.unlink()
    answer = send(pusher, zipped(folder, tmp_path / "sent.zip").read_bytes())
    import_upload(ImportJob.objects.get().pk)
    told = pusher.client.get(answer["Location"]).json()
    report = ImportJob.objects.get().report
    assert report is not None
    assert told["problems"] == report["problems"] != []
    assert told["n_problems"] == report["counts"]["problems"]
    assert (told["problems"][0]["field"], told["rejected"]) == ("screenshot", [])


def test_sent_twice_under_one_key_it_is_one_import(pusher: Pusher, tmp_path: Path) -> None:
    content, key = archive(tmp_path), {"Idempotency-Key": "one"}
    answers = [send(pusher, content, **key) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert ImportJob.objects.count() == 1
    assert send(pusher, b"another", **key).status_code == 422


def test_what_is_no_archive_or_too_large_is_refused(pusher: Pusher, settings: Any) -> None:
    assert send(pusher, b"{}", "application/json").status_code == 415
    settings.ENV = settings.ENV.model_copy(update={"IMPORT_MAX_UPLOAD_BYTES": 3})
    assert send(pusher, b"long").status_code == 413
    assert not ImportJob.objects.exists()


def test_others_see_nothing_of_it(pusher: Pusher, tmp_path: Path) -> None:
    place = send(pusher, archive(tmp_path))["Location"]
    assert Pusher(make_user("engineer")).client.get(place).status_code == 404
