"""Blobs on disk and in a bucket: the same behaviour, against a server that speaks S3."""

import io
import os
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import SuspiciousFileOperation
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from runs.exports.services import export_runs
from runs.imports.importing import NO_STORE, import_upload, sweep_imports
from runs.imports.services import is_kept, kept_places
from runs.imports.storing import StoringError, import_bundle
from runs.models import Blob, ImportJob, Run
from runs.operations.blob_checks import delete_unnamed
from runs.storage.blobs import (
    BlobBatch,
    CleanedUpError,
    MissingBlobError,
    open_blob,
    read_blob,
    storage_name,
)
from runs.storage.file_storage import StoredFile, StoreUnavailableError, blob_storage
from tests.runs.factories import make_picture, make_run, make_user
from tests.runs.storage.bad_services import bad_service
from tests.runs.storage.s3_server import any_store, credentials, server_address, use_bucket
from tests.runs.storage.stores import store_blob, use_store
from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory.formats.native.writer import write_zip

__all__ = ["any_store", "credentials"]
pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests files"), pytest.mark.slow]
LATER = timedelta(days=2)


@pytest.fixture(autouse=True)
def uploads(settings, tmp_path, monkeypatch):
    settings.UPLOAD_DIR = tmp_path / "uploads"
    settings.UPLOAD_DIR.mkdir()
    monkeypatch.setattr("runs.queue.workers.current_app.send_task", lambda *_, **__: None)


@pytest.fixture
def bucket(settings):
    return use_bucket(settings)


def later() -> datetime:
    return datetime.now(UTC) + LATER


def checked(capsys: Any, *options: str) -> str:
    call_command("check_blobs", *options)
    return str(capsys.readouterr().out)


def send(client: Client, tmp_path: Any, *numbers: int) -> ImportJob:
    path = tmp_path / "sent.zip"
    write_zip(path, [run_bundle(number) for number in numbers or (1,)])
    file = SimpleUploadedFile("runs.zip", path.read_bytes(), "application/zip")
    client.force_login(make_user())
    client.post("/imports/", {"file": file, "format": "auto", "experiment_name": ""})
    return ImportJob.objects.get()


class TestEveryStore:
    def test_bytes_come_back(self, any_store):
        content = os.urandom(70_000)
        blob = store_blob(content, "application/octet-stream")
        assert (read_blob(blob), blob.stored_size) == (content, len(content))
        with open_blob(blob) as file:
            assert (file.read(), file.size) == (content, len(content))
        assert any_store.size(storage_name(blob)) == len(content)

    def test_a_picture_and_its_thumbnail_come_back(self, any_store):
        blob: Any = make_picture("words", (640, 400))
        assert read_blob(blob).startswith(b"\x89PNG")
        assert read_blob(blob.thumbnail)[8:12] == b"WEBP"
        assert any_store.size(storage_name(blob)) == blob.stored_size

    def test_the_same_is_stored_once_and_renewed(self, any_store):
        any_store.put("ab/cd/abcd", b"content")
        between = datetime.now(UTC)
        time.sleep(1.1)  # such services tell time in seconds
        any_store.put("ab/cd/abcd", b"content")
        (file,) = any_store.walk()
        assert (file.name, file.size) == ("ab/cd/abcd", 7)
        assert not any_store.delete_if_older(file.name, between)
        assert any_store.exists(file.name)

    def test_half_an_object_is_mended(self, any_store):
        any_store.put("ab/cd/abcd", b"con")
        any_store.put("ab/cd/abcd", b"content")
        with any_store.open("ab/cd/abcd") as file:
            assert file.read() == b"content"

    def test_what_is_old_goes_and_only_once(self, any_store):
        any_store.put("ab/cd/abcd", b"content")
        assert any_store.delete_if_older("ab/cd/abcd", later())
        assert not any_store.delete_if_older("ab/cd/abcd", later())
        assert list(any_store.walk()) == []

    def test_what_is_not_there_says_so(self, any_store):
        blob = store_blob(b"gone soon", "text/plain")
        any_store.delete(storage_name(blob))
        for look in (read_blob, open_blob):
            with pytest.raises(MissingBlobError):
                look(blob)
        assert not any_store.exists(storage_name(blob))
        with pytest.raises(FileNotFoundError):
            any_store.get_modified_time(storage_name(blob))

    @pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "a/../../b"])
    def test_a_name_cannot_leave_the_store(self, any_store, name):
        with pytest.raises(SuspiciousFileOperation):
            any_store.open(name)
        with pytest.raises(SuspiciousFileOperation):
            any_store.put(name, b"x")

    def test_files_come_in_the_order_of_their_names(self, any_store):
        names = [
            "ab.0.part",
            "ab/cd/abcd",
            "ab/cd/abcd.1.part",
            "ab/cd/abcd.zst",
            "ab/ce/abce",
            "b",
        ]
        for name in reversed(names):
            any_store.put(name, b"x")
        assert [file.name for file in any_store.walk()] == sorted(names) == names
        # A folder of the system has no order of its own.
        folders, files = any_store.listdir("ab/cd")
        assert (folders, sorted(files)) == ([], ["abcd", "abcd.1.part", "abcd.zst"])
        assert sorted(any_store.listdir("ab")[0]) == ["cd", "ce"]

    def test_runs_go_in_and_out_and_in_again(self, any_store, tmp_path, settings, capsys):
        for number in (1, 2):
            assert import_bundle(run_bundle(number)).is_new
        hashes = set(Run.objects.values_list("content_hash", flat=True))
        export_runs(tmp_path / "out.zip", Run.objects.all())
        assert "Damaged or missing: 0." in checked(capsys)
        call_command("check_integrity")
        assert "Violations: 0." in capsys.readouterr().out
        for run in Run.objects.all():
            assert run.steps.filter(screenshot__thumbnail=None).count() == 0
        assert not import_bundle(run_bundle(1)).is_new
        assert hashes == set(Run.objects.values_list("content_hash", flat=True))

    def test_missing_damaged_and_left_over_files_are_found(self, any_store, capsys):
        step: Any = make_run(steps=1).steps.get()
        any_store.delete(storage_name(step.screenshot))
        any_store.put(storage_name(step.tree), b"other bytes")
        any_store.put("00/11/0011", b"left by a killed process")
        with pytest.raises(SystemExit):
            call_command("check_blobs")
        said = capsys.readouterr().out
        assert "Damaged or missing: 2." in said
        assert "1 files without a row" in said
        with pytest.raises(SystemExit):
            call_command("check_integrity")
        assert f"{step.screenshot_id}: its file is gone" in capsys.readouterr().out

    def test_left_over_files_go_after_the_grace_period(self, any_store, capsys, settings):
        step: Any = make_run(steps=1).steps.get()
        any_store.put("00/11/0011", b"left by a killed process")
        assert "Deleted" not in checked(capsys, "--delete-orphans")
        assert any_store.exists("00/11/0011")
        named, unpacked = storage_name(step.screenshot), storage_name(step.tree)[: -len(".zst")]
        any_store.put(unpacked, b"the tree before it was packed")
        assert delete_unnamed([named, unpacked, "00/11/0011"], before=later()) == 2
        assert [any_store.exists(name) for name in (named, unpacked)] == [True, False]
        assert read_blob(step.tree)
        assert "0 files without a row" in checked(capsys)
        assert not Blob.objects.filter(pk="0011").exists()

    def test_an_upload_reaches_the_worker_and_goes(self, any_store, client, tmp_path):
        job = send(client, tmp_path, 1, 2)
        assert is_kept(job.path)
        assert [place for place, _at in kept_places()] == [job.path]
        assert import_upload(job.pk)
        job.refresh_from_db()
        assert (job.state, job.n_done, Run.objects.count()) == ("finished", 2, 2)
        assert not is_kept(job.path)
        sweep_imports()
        assert list(kept_places()) == []

    def test_a_page_shows_its_pictures(self, any_store, client):
        run = make_run(steps=1)
        client.force_login(make_user())
        blob: Any = run.steps.get().screenshot
        address = reverse("runs:run_blob", args=[run.pk, blob.pk])
        answer = client.get(address)
        assert (answer.status_code, answer["Content-Type"]) == (200, "image/png")
        assert b"".join(answer) == read_blob(blob)
        any_store.delete(storage_name(blob))
        assert client.get(address).status_code == 404


class TestBuckets:
    def test_nothing_is_written_to_the_disk(self, bucket, client, tmp_path, settings):
        settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 10
        job = send(client, tmp_path)
        assert job.path.startswith("bucket:")
        assert list(settings.UPLOAD_DIR.iterdir()) == []
        import_upload(job.pk)
        job.refresh_from_db()
        assert (job.state, Run.objects.count()) == ("finished", 1)
        assert list(settings.UPLOAD_DIR.iterdir()) == []
        assert list(settings.FILE_UPLOAD_TEMP_DIR.glob("*.zip")) == []

    def test_uploads_are_no_orphans_of_the_blobs(self, bucket, client, tmp_path, capsys):
        send(client, tmp_path)
        assert "0 files without a row" in checked(capsys)

    def test_more_files_than_a_page_of_the_list(self, bucket, monkeypatch):
        monkeypatch.setattr("runs.storage.s3.PAGE", 3)
        names = [f"{number:02x}" for number in range(10)]
        for name in names:
            bucket.put(name, b"")
        assert [file.name for file in bucket.walk()] == names

    def test_a_large_upload_goes_in_parts(self, bucket):
        content = os.urandom(9 << 20)
        beside = bucket.beside("uploads")
        beside.put_file("large.zip", io.BytesIO(content))
        out = io.BytesIO()
        beside.fetch("large.zip", out)
        assert out.getvalue() == content
        key = "lab/uploads/large.zip"
        assert bucket.client.head_object(Bucket=bucket.bucket, Key=key)["ETag"].endswith('-2"')

    def test_a_clean_up_between_look_and_deletion_is_noticed(self, bucket):
        """The writer renewed what the clean-up had found old, and the clean-up deletes it."""
        bucket.put(storage_name(Blob(sha256="f" * 64)), b"")
        content = b"stored before, and nobody's since"
        first = BlobBatch().add(content, "application/octet-stream")  # a file without a row
        batch = BlobBatch()
        batch.add(content, "application/octet-stream")
        bucket.delete(storage_name(first))
        with pytest.raises(CleanedUpError):
            batch.save()

    def test_an_import_that_meets_the_clean_up_writes_again(self, bucket, monkeypatch):
        bundle = run_bundle(1)
        for blob in bundle.blob_records():
            BlobBatch().add(bundle.read_blob(blob.sha256), blob.media_type)  # files without rows
        deleted: list[StoredFile] = []
        save = BlobBatch.save

        def cleaned_up_before(batch):
            for file in bucket.walk() if not deleted else ():
                deleted.append(file)
                bucket.delete(file.name)
            save(batch)

        monkeypatch.setattr(BlobBatch, "save", cleaned_up_before)
        assert import_bundle(bundle).is_new
        assert deleted
        for row in Blob.objects.all():
            assert read_blob(row)


class TestPresigned:
    @pytest.fixture
    def client(self, settings, client):
        settings.ENV = settings.ENV.model_copy(update={"BLOB_SERVING": "presigned"})
        client.force_login(make_user())
        return client

    def test_pictures_come_from_the_bucket(self, bucket, client):
        run = make_run(steps=1)
        blob: Any = run.steps.get().screenshot
        answer = client.get(reverse("runs:run_blob", args=[run.pk, blob.pk]))
        assert answer.status_code == 302
        assert answer.url.startswith(f"{server_address()}/{bucket.bucket}/lab/blobs/")
        assert answer["Cache-Control"] == "private, max-age=150"
        with urllib.request.urlopen(answer.url) as fetched:  # noqa: S310 (the test's own)
            assert fetched.read() == read_blob(blob)
            assert fetched.headers["Content-Type"] == "image/png"
            assert fetched.headers["Content-Disposition"] == "inline"

    def test_an_address_holds_for_five_minutes(self, bucket):
        address = bucket.address("ab", seconds=300, headers={"Content-Type": "image/png"})
        assert "X-Amz-Expires=300" in address
        assert "tester" in address
        assert "for-tests-only" not in address

    @pytest.mark.parametrize("kind", ["text/html", "image/svg+xml", "text/plain"])
    def test_text_and_markup_never(self, bucket, client, kind):
        run = make_run(steps=1)
        blob = store_blob(b"<svg onload=alert(1)>", kind)
        run.attachments.create(role="log", blob=blob)
        answer = client.get(reverse("runs:run_blob", args=[run.pk, blob.pk]))
        if answer.status_code == 302:
            assert "response-content-disposition=attachment" in answer.url
            assert "response-content-type=application%2Foctet-stream" in answer.url
        else:
            assert answer["Content-Type"] == "text/plain; charset=utf-8"

    def test_whoever_may_not_see_the_run_gets_no_address(self, bucket, client):
        run = make_run(steps=1)
        client.force_login(make_user("annotator"))
        address = reverse("runs:run_blob", args=[run.pk, run.steps.get().screenshot_id])
        assert client.get(address).status_code == 404

    def test_files_on_disk_are_served_as_ever(self, settings, tmp_path, client):
        use_store(settings, tmp_path / "blobs")
        run = make_run(steps=1)
        address = reverse("runs:run_blob", args=[run.pk, run.steps.get().screenshot_id])
        assert client.get(address).status_code == 200


class TestTrouble:
    """The service is gone, slow, full, or refuses us."""

    @pytest.mark.fault(17, "the bucket's service is gone while a file is imported, then back")
    def test_down(self, settings, client, tmp_path):
        use_bucket(settings)
        run = make_run(steps=1)
        job = send(client, tmp_path)
        working = settings.STORAGES
        use_bucket(settings, endpoint_url="http://127.0.0.1:9")
        blob: Any = run.steps.get().screenshot
        with pytest.raises(StoreUnavailableError, match="does not answer"):
            read_blob(blob)
        page = client.get(reverse("runs:run_blob", args=[run.pk, blob.pk]))
        assert page.status_code == 503
        assert "file storage" in page.content.decode()
        n_blobs = Blob.objects.count()
        assert import_upload(job.pk)
        job.refresh_from_db()
        assert (job.state, job.problem) == ("running", NO_STORE)
        assert (Run.objects.count(), Blob.objects.count()) == (1, n_blobs)
        settings.STORAGES = working
        ImportJob.objects.update(lease_expires_at=datetime.now(UTC) - timedelta(seconds=5))
        assert import_upload(job.pk)
        job.refresh_from_db()
        assert (job.state, job.problem, Run.objects.count()) == ("finished", "", 2)

    @pytest.mark.fault(17, "the bucket's service goes away at the third file of a run")
    def test_down_while_a_run_is_stored(self, bucket, monkeypatch):
        calls = []
        put = type(bucket).put

        def fails_at_third(storage, name, content, unsynced=None):
            calls.append(name)
            if len(calls) >= 3:
                raise StoreUnavailableError("it went away")
            return put(storage, name, content, unsynced)

        monkeypatch.setattr(type(bucket), "put", fails_at_third)
        with pytest.raises(StoreUnavailableError):
            import_bundle(run_bundle(1))
        assert (Run.objects.count(), Blob.objects.count()) == (0, 0)

    def test_a_job_gives_up_in_the_end_and_says_why(self, settings, client, tmp_path):
        use_bucket(settings)
        job = send(client, tmp_path)
        use_bucket(settings, endpoint_url="http://127.0.0.1:9")
        past = datetime.now(UTC) - timedelta(seconds=5)
        for _try in range(settings.ENV.MAX_ATTEMPTS):
            assert import_upload(job.pk)
            ImportJob.objects.update(lease_expires_at=past)
        with pytest.raises(StoreUnavailableError):
            sweep_imports()
        job.refresh_from_db()
        assert (job.state, job.problem) == ("failed", NO_STORE)

    def test_the_upload_itself_is_refused_in_words(self, settings, client, tmp_path):
        use_bucket(settings, endpoint_url="http://127.0.0.1:9")
        client.force_login(make_user())
        file = SimpleUploadedFile("runs.zip", b"x", "application/zip")
        page = client.post("/imports/", {"file": file, "format": "auto", "experiment_name": ""})
        assert "The file storage is temporarily unavailable" in page.content.decode()
        assert not ImportJob.objects.exists()

    @pytest.mark.fault(17, "the bucket's service answers after 20 seconds")
    def test_slow(self, settings):
        with bad_service(delay_s=20) as service:
            store = use_bucket(settings, endpoint_url=service.address, timeout_s=0.3)
            assert store.client  # made once, which takes a while
            began = time.monotonic()
            with pytest.raises(StoreUnavailableError, match="does not answer"):
                store.exists("ab")
            assert time.monotonic() - began < 10

    def test_it_is_asked_again_so_many_times(self, settings):
        with bad_service(status=503) as service:
            use_bucket(settings, endpoint_url=service.address, max_tries=2)
            with pytest.raises(StoreUnavailableError):
                blob_storage().exists("ab")
            assert service.n_asked == 2

    @pytest.mark.fault(9, "the bucket's service has no room")
    def test_full(self, settings):
        with bad_service(status=507) as service:
            use_bucket(settings, endpoint_url=service.address)
            with pytest.raises(StoringError, match="the disk is full"):
                import_bundle(run_bundle(1))
        assert not Run.objects.exists()

    def test_no_such_bucket_is_no_missing_file(self, settings):
        use_bucket(settings, bucket="nobody-made-this")
        with pytest.raises(StoreUnavailableError, match="NoSuchBucket"):
            blob_storage().open("ab")
        with pytest.raises(StoreUnavailableError):
            blob_storage().put("ab", b"x")
