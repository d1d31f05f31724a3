"""Imports by upload: taken in, carried out in the background, told on a page."""

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError

from runs.imports import importing
from runs.imports.importing import import_upload, sweep_imports
from runs.imports.importing import import_upload_task as carry_out_message
from runs.imports.services import dispatch_imports
from runs.imports.storing import import_runs
from runs.models import ImportJob, Run, User
from runs.queue import leases
from tests.runs.factories import make_user
from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory.formats.native.writer import write_zip

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("test_storing.py stores on both"),
    pytest.mark.slow,
    pytest.mark.usefixtures("place"),
]
URL = "/imports/"


@pytest.fixture
def engineer(client):
    user = make_user()
    client.force_login(user)
    return user


def archive(tmp_path: Path, *numbers: int) -> bytes:
    path = tmp_path / "sent.zip"
    write_zip(path, [run_bundle(number) for number in numbers or (1,)])
    return path.read_bytes()


def send(client: Any, content: bytes, **fields: str) -> Any:
    file = SimpleUploadedFile("my runs.zip", content, "application/zip")
    return client.post(URL, {"file": file, "format": "auto", "experiment_name": ""} | fields)


def make_job(user: User, content: bytes, **fields: Any) -> ImportJob:
    job = ImportJob(created_by=user, file_name="a.zip", size=len(content), **fields)
    path = settings.UPLOAD_DIR / f"{job.pk}.zip"
    path.write_bytes(content)
    job.path = str(path)
    job.save()
    return job


def let_lease_run_out(job: ImportJob) -> None:
    past = timezone.now() - timedelta(seconds=5)
    ImportJob.objects.filter(pk=job.pk).update(lease_expires_at=past)


def test_a_sent_file_becomes_runs(
    client, engineer, place, tmp_path, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        response = send(client, archive(tmp_path, 1, 2), experiment_name="Garden")
    job = ImportJob.objects.get()
    assert response.url == reverse("runs:import_detail", args=[job.pk])
    assert place == [str(job.pk)]
    assert (job.state, job.file_name, job.created_by) == ("queued", "my runs.zip", engineer)
    assert import_upload(job.pk)
    job.refresh_from_db()
    assert (job.state, job.n_total, job.n_done) == ("finished", 2, 2)
    assert job.report["counts"] == {
        "imported": 2,
        "already_there": 0,
        "rejected": 0,
        "problems": 0,
        "steps": 6,
        "screenshots": 6,
        "labels": job.report["counts"]["labels"],
        "evaluations": job.report["counts"]["evaluations"],
        "redacted": 0,
    }
    assert job.ended_at is not None
    assert not Path(job.path).exists()
    assert {run.experiment.name for run in Run.objects.all() if run.experiment} == {"Garden"}
    page = client.get(response.url).content.decode()
    for run in Run.objects.all():
        assert reverse("runs:run_detail", args=[run.pk]) in page


def test_a_run_that_is_here_and_archived_is_told_so(client, engineer, tmp_path, capsys):
    import_upload(make_job(engineer, archive(tmp_path, 1, 2)).pk)
    archived = Run.objects.all()[:1].get()
    Run.objects.filter(pk=archived.pk).update(archived_at=timezone.now())
    job = make_job(engineer, archive(tmp_path, 1, 2, 3))
    assert import_upload(job.pk)
    job.refresh_from_db()
    counts = job.report["counts"]
    assert (counts["imported"], counts["already_there"], counts["archived"]) == (1, 2, 1)
    told = {row["run"]: row.get("archived") for row in job.report["already_there"]}
    assert sorted(told.values(), key=bool) == [None, True]
    assert told[str(archived.pk)]
    page = client.get(job.get_absolute_url()).content.decode()
    assert page.count("archived</span>") == 1
    assert "(1 archived)" in page
    call_command("import_runs", str(tmp_path / "sent.zip"))
    assert "Already there: 3 (1 archived).\n" in capsys.readouterr().out


def test_a_large_file_is_moved_not_copied(client, engineer, settings, tmp_path):
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 10
    send(client, archive(tmp_path))
    job = ImportJob.objects.get()
    assert Path(job.path).stat().st_size == job.size
    assert list(settings.FILE_UPLOAD_TEMP_DIR.glob("*.upload.zip")) == []


@pytest.mark.fault(4, "the message of an import twice")
def test_the_same_message_twice_is_one_import(engineer, tmp_path):
    job = make_job(engineer, archive(tmp_path))
    assert import_upload(job.pk)
    assert not import_upload(job.pk)
    assert Run.objects.count() == 1


def test_a_file_without_runs_is_told(client, engineer, tmp_path):
    job = make_job(engineer, b"this is no zip")
    import_upload(job.pk)
    job.refresh_from_db()
    assert (job.state, job.report["counts"]["rejected"]) == ("finished", 1)
    page = client.get(reverse("runs:import_detail", args=[job.pk])).content.decode()
    assert "neither a readable zip nor JSON" in page
    assert "Nothing to import" in page
    assert "nothing to import" in client.get(URL).content.decode()


def test_a_file_of_no_known_format_lists_those_there_are(client, engineer):
    job = make_job(engineer, b"{}", format="webarena")
    import_upload(job.pk)
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "ja"
    page = client.get(reverse("runs:import_detail", args=[job.pk])).content.decode()
    assert "webarena形式の実行が入っていません" in page
    assert "Looked for" not in page
    assert "trace.zip" in page
    assert "自動で判別" in page


def test_hostile_names_are_shown_as_text(client, engineer, tmp_path):
    script = "<script>alert(1)</script>"
    job = make_job(engineer, b"x", experiment_name=script)
    ImportJob.objects.filter(pk=job.pk).update(file_name=f"{script}.zip")
    import_upload(job.pk)
    for url in (URL, reverse("runs:import_detail", args=[job.pk])):
        assert script not in client.get(url).content.decode()


def test_a_fault_of_ours_is_told_and_the_file_goes(engineer, tmp_path, monkeypatch):
    def break_down(*_, **__):
        raise RuntimeError("something we did not think of")

    job = make_job(engineer, archive(tmp_path))
    monkeypatch.setattr(importing, "import_runs", break_down)
    import_upload(job.pk)
    job.refresh_from_db()
    assert job.state == "failed"
    assert "something we did not think of" in job.problem
    assert not Path(job.path).exists()


class TestDeadWorkers:
    @pytest.mark.fault(1, "a process dies after two of three runs of an import")
    def test_another_takes_up_where_the_first_died(self, engineer, tmp_path, monkeypatch):
        import_upload(make_job(engineer, archive(tmp_path, 4)).pk)
        job = make_job(engineer, archive(tmp_path, 4, 1, 2, 3))
        stored = []
        real = import_runs

        def die_after_two(*args, **options):
            for item in real(*args, **options):
                stored.append(item)
                yield item
                if len(stored) == 2:
                    raise SystemExit  # what SIGKILL leaves: nothing after this runs

        monkeypatch.setattr(importing, "import_runs", die_after_two)
        with pytest.raises(SystemExit):
            import_upload(job.pk)
        monkeypatch.undo()
        assert Run.objects.count() == 2
        assert not import_upload(job.pk)  # the lease still holds
        let_lease_run_out(job)
        assert import_upload(job.pk)
        job.refresh_from_db()
        counts = job.report["counts"]
        assert (counts["imported"], counts["already_there"]) == (3, 1)
        assert not job.runs_of_file.exists()  # the file is not kept
        assert (job.state, Run.objects.count()) == ("finished", 4)

    @pytest.mark.fault(5, "an import is taken from a process that goes on")
    def test_one_that_wakes_up_late_writes_nothing(self, engineer, tmp_path, monkeypatch):
        job = make_job(engineer, archive(tmp_path, 1, 2))
        real = import_runs

        def frozen_meanwhile(*args, **options):
            for item in real(*args, **options):
                ImportJob.objects.filter(pk=job.pk).update(lease_token=2, n_done=77)
                yield item

        monkeypatch.setattr(importing, "import_runs", frozen_meanwhile)
        import_upload(job.pk)
        job.refresh_from_db()
        assert (job.state, job.n_done, job.report) == ("running", 77, {})
        assert Path(job.path).exists()

    @pytest.mark.fault(1, "every process that imports a file dies")
    def test_a_file_that_kills_every_worker_is_given_up(self, engineer, settings, tmp_path):
        claims = settings.ENV.MAX_ATTEMPTS
        job = make_job(engineer, archive(tmp_path), state="running", n_barren=claims - 1)
        let_lease_run_out(job)
        sweep_imports()
        job.refresh_from_db()
        assert (job.state, job.problem) == ("failed", leases.DIED)
        assert not Path(job.path).exists()

    @pytest.mark.fault(6, "the message of an import is lost")
    def test_a_lost_message_is_sent_again_but_not_at_every_sweep(self, engineer, place, tmp_path):
        job = make_job(engineer, archive(tmp_path))
        dispatch_imports()
        dispatch_imports()
        assert place == [str(job.pk)]
        long_ago = timezone.now() - timedelta(seconds=settings.ENV.LEASE_S + 5)
        ImportJob.objects.update(dispatched_at=long_ago)
        dispatch_imports()
        assert place == [str(job.pk)] * 2
        assert import_upload(job.pk)

    def test_messages_do_not_pile_up_where_many_wait(self, engineer, place, tmp_path):
        for _ in range(15):
            make_job(engineer, b"x")
        dispatch_imports()
        assert len(place) == 15
        long_ago = timezone.now() - timedelta(seconds=settings.ENV.LEASE_S + 5)
        ImportJob.objects.update(dispatched_at=long_ago)
        dispatch_imports()
        assert len(place) == 15 + 10
        oldest = ImportJob.objects.order_by("created_at").values_list("pk", flat=True)[:10]
        assert place[15:] == [str(pk) for pk in oldest]

    @pytest.mark.fault(2, "the broker forgets the messages of many imports")
    def test_who_is_through_with_one_has_the_next_ones_message_sent_again(
        self, engineer, place, tmp_path
    ):
        long_ago = timezone.now() - timedelta(seconds=settings.ENV.LEASE_S + 5)
        content = archive(tmp_path)
        first, *others = (make_job(engineer, content, dispatched_at=long_ago) for _ in range(3))
        carry_out_message(str(first.pk))
        assert place == [str(others[0].pk)]

    @pytest.mark.fault(2, "the broker refuses the message of an import")
    def test_without_a_broker_the_import_waits(self, engineer, tmp_path, monkeypatch):

        def refuse(*_, **__):
            raise OperationalError("no broker")

        job = make_job(engineer, archive(tmp_path))
        monkeypatch.setattr("runs.queue.workers.current_app.send_task", refuse)
        dispatch_imports()
        job.refresh_from_db()
        assert job.state == "queued"

    def test_files_nobody_needs_are_removed(self, engineer, settings, tmp_path):
        waiting = make_job(engineer, b"1")
        ended = make_job(engineer, b"2", state="finished")
        lost = settings.UPLOAD_DIR / "lost.zip"
        fresh = settings.UPLOAD_DIR / "being-written.zip"
        for path in (lost, fresh):
            path.write_bytes(b"x")
        os.utime(lost, (1, time.time() - settings.ENV.ORPHAN_GRACE_S - 60))
        sweep_imports()
        assert Path(waiting.path).exists()
        assert fresh.exists()
        assert not lost.exists()
        assert not Path(ended.path).exists()


class TestPages:
    def test_the_list_shows_own_imports_only(self, client, engineer, tmp_path):
        make_job(engineer, b"x")
        make_job(make_user(), b"y")
        page = client.get(URL)
        assert page.status_code == 200
        assert page.content.decode().count("a.zip") == 1

    def test_it_asks_again_only_while_something_moves(self, client, engineer, tmp_path):
        job = make_job(engineer, archive(tmp_path))
        detail = reverse("runs:import_detail", args=[job.pk])
        for url in (URL, detail):
            fragment = client.get(url, headers={"HX-Request": "true"}).content.decode()
            assert "hx-get" in fragment
            assert "<html" not in fragment
        import_upload(job.pk)
        for url in (URL, detail):
            assert "hx-get" not in client.get(url, headers={"HX-Request": "true"}).content.decode()

    def test_without_a_file_the_form_says_so(self, client, engineer):
        response = client.post(URL, {"format": "auto"})
        assert response.status_code == 422
        assert not ImportJob.objects.exists()

    def test_a_file_beyond_the_limit_is_refused(self, client, engineer, settings, tmp_path):
        settings.ENV = settings.ENV.model_copy(update={"IMPORT_MAX_UPLOAD_BYTES": 100})
        assert send(client, b"x" * (2 << 20)).status_code == 413
        assert not ImportJob.objects.exists()
        assert list(settings.UPLOAD_DIR.iterdir()) == []

    def test_a_full_disk_is_told_and_leaves_nothing(self, client, engineer, settings, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("runs.imports.services._keep", full)
        page = send(client, b"x").content.decode()
        assert "the disk is full" in page
        assert not ImportJob.objects.exists()

    def test_who_may_not(self, client, engineer, tmp_path):
        job = make_job(engineer, b"x")
        detail = reverse("runs:import_detail", args=[job.pk])
        client.logout()
        assert client.get(URL).status_code == client.get(detail).status_code == 302
        client.force_login(make_user("annotator"))
        assert client.get(URL).status_code == client.get(detail).status_code == 403
        assert send(client, b"x").status_code == 403
        client.force_login(make_user())
        assert client.get(detail).status_code == 404
        assert client.post(detail).status_code == 405


def test_a_first_look_stores_nothing_until_its_owner_says_so(
    client, engineer, tmp_path, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        url = send(client, archive(tmp_path, 1, 2), look="").url
    job = ImportJob.objects.get()
    assert import_upload(job.pk)
    job.refresh_from_db()
    assert (job.state, job.awaits_confirmation, Run.objects.count()) == ("finished", True, 0)
    (found,) = job.survey["formats"]
    assert (found["format"], found["runs"], found["steps"]) == ("made-up", 2, 6)
    sweep_imports()
    assert Path(job.path).exists()
    page = client.get(url).content.decode()
    assert "nothing is stored yet" in page
    decide = reverse("runs:import_decide", args=[job.pk])
    assert decide in page
    with django_capture_on_commit_callbacks(execute=True):
        client.post(decide, {})
    assert import_upload(job.pk)
    job.refresh_from_db()
    assert (job.state, job.awaits_confirmation, Run.objects.count()) == ("finished", False, 2)
    assert not Path(job.path).exists()
    client.post(decide, {})
    assert not import_upload(job.pk)


def test_what_was_looked_at_can_be_discarded_and_does_not_lie_about_for_ever(
    client, engineer, tmp_path, settings
):
    jobs = [make_job(engineer, archive(tmp_path), only_looks=True) for _ in range(2)]
    for job in jobs:
        assert import_upload(job.pk)
    client.post(reverse("runs:import_decide", args=[jobs[0].pk]), {"discard": ""})
    jobs[0].refresh_from_db()
    assert (jobs[0].state, Path(jobs[0].path).exists()) == ("cancelled", False)
    past = timezone.now() - timedelta(seconds=settings.ENV.ORPHAN_GRACE_S + 5)
    ImportJob.objects.filter(pk=jobs[1].pk).update(ended_at=past)
    sweep_imports()
    assert not Path(jobs[1].path).exists()
    answer = client.post(reverse("runs:import_decide", args=[jobs[1].pk]), {}, follow=True)
    assert "Send it again" in answer.content.decode()
    assert Run.objects.count() == 0


@pytest.mark.fault(17, "an import's worker is told to stop after the first run")
@pytest.mark.parametrize("only_looks", [False, True])
def test_a_worker_that_is_told_to_stop_leaves_the_rest_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, only_looks: bool
):
    job = make_job(make_user(), archive(tmp_path, 1, 2, 3), only_looks=only_looks)
    monkeypatch.setattr(importing, "is_stopping", lambda: True)
    assert import_upload(job.pk)
    job.refresh_from_db()
    assert (job.state, job.n_done, job.n_barren, job.lease_expires_at) == ("queued", 1, 0, None)
    assert Run.objects.count() == (0 if only_looks else 1)
    monkeypatch.setattr(importing, "is_stopping", lambda: False)
    assert import_upload(job.pk)
    job.refresh_from_db()
    assert (job.state, job.n_done) == ("finished", 3)
    assert job.report.get("counts", {}).get("imported", 0) == (0 if only_looks else 3)
    assert Run.objects.count() == (0 if only_looks else 3)
