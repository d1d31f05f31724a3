"""Reports and bundles made in the background: by whom, for whom, and for how long."""

import io
import zipfile
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from judging.models import Study, StudyDownload, StudyMember, Unblinding
from judging.portability.study_bundles.services import import_study, write_study
from judging.portability.study_report import downloads as study_downloads
from judging.portability.study_report.downloads import (
    KEPT_DAYS,
    carry_out,
    start_download,
    sweep_downloads,
)
from judging.portability.study_report.pages import Choices
from runs.imports.importing import import_upload
from runs.imports.services import import_after_look, start_import
from runs.models import User
from runs.operations.blob_checks import unused_blobs
from tests.judging.factories import make_label, make_study
from tests.runs.factories import client_of, make_run, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
Kind, State = StudyDownload.Kind, StudyDownload.State


@pytest.fixture
def study(db) -> Study:
    made = make_study(runs=[make_run(steps=1)])
    for member in made.members.all():
        make_label(made.items.get(), User.objects.get(pk=member.user_id))
    return made


@pytest.fixture
def auditor(db) -> User:
    return make_user("engineer")


def made_for(study: Study, user: User, kind: str = "report") -> StudyDownload:
    download = start_download(study=study, kind=Kind(kind), choices=Choices(), user=user)
    assert carry_out(download.pk)
    download.refresh_from_db()
    return download


def test_asked_for_on_the_page_made_once_and_taken_away(study, auditor, monkeypatch):
    monkeypatch.setattr(study_downloads, "PART_BYTES", 10_000)
    client = client_of(auditor)
    page = reverse("judging:study_downloads", args=[study.pk])
    for _ in range(2):
        assert client.post(page, {"kind": "report", "names": "on"}).status_code == 302
    download = StudyDownload.objects.get()
    assert download.choices == {"names": True, "thoughts": False, "language": "en"}
    assert b"every 2s" in client.get(page).content
    assert carry_out(download.pk)
    assert not carry_out(download.pk)
    download.refresh_from_db()
    assert (download.state, download.n_done, download.parts.count() > 1) == (
        State.FINISHED,
        1,
        True,
    )
    address = reverse("judging:study_download_file", args=[study.pk, download.pk])
    answer = client.get(address)
    content = answer.getvalue()
    assert len(content) == download.size == int(answer["Content-Length"])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        assert "report/index.html" in archive.namelist()
    assert Unblinding.objects.filter(user=auditor).count() == 1
    assert not unused_blobs().filter(media_type="application/zip").exists()
    assert client_of(make_user("engineer")).get(address).status_code == 404, "somebody else's"


def test_a_bundle_is_for_who_manages_studies(study, auditor, tmp_path):
    download = made_for(study, auditor, "bundle")
    assert download.state == State.FINISHED, download.problem
    client = client_of(auditor)
    address = reverse("judging:study_download_file", args=[study.pk, download.pk])
    path = tmp_path / "study.zip"
    path.write_bytes(client.get(address).getvalue())
    assert import_study(path).study.conflicts == []
    reader = make_user("annotator")
    page = reverse("judging:study_downloads", args=[study.pk])
    assert client_of(reader).post(page, {"kind": "bundle"}).status_code == 403
    assert client_of(reader).get(address).status_code == 403


def test_a_bundle_comes_in_by_the_page_for_imports(study, auditor, tmp_path):
    content = io.BytesIO()
    write_study(content, study)
    before = content.getvalue()
    study.items.get().verdict.delete()
    study.delete()
    job = start_import(
        file=SimpleUploadedFile("study.zip", before), user=auditor, format="auto", only_looks=True
    )
    assert import_upload(job.pk)
    job.refresh_from_db()
    assert job.survey["unread"] == [], "what belongs to the study is read later"
    import_after_look(job=job, answers={})
    assert import_upload(job.pk)
    job.refresh_from_db()
    assert (job.state, job.report["counts"]["problems"]) == (State.FINISHED, 0), job.report
    content = io.BytesIO()
    write_study(content, Study.objects.get())
    assert content.getvalue() == before


def test_who_became_blind_meanwhile_gets_nothing(study, auditor):
    done = made_for(study, auditor)
    other = make_study(runs=[study.items.get().run])
    waiting = start_download(study=study, kind=Kind.REPORT, choices=Choices(), user=auditor)
    StudyMember.objects.create(study=other, user=auditor, part=StudyMember.Part.ANNOTATOR)
    assert carry_out(waiting.pk)
    waiting.refresh_from_db()
    assert (waiting.state, waiting.parts.count()) == (State.FAILED, 0)
    client = client_of(auditor)
    assert client.get(reverse("judging:study_downloads", args=[study.pk])).status_code == 403
    address = reverse("judging:study_download_file", args=[study.pk, done.pk])
    assert client.get(address).status_code == 403


def test_cancelled_it_ends_and_old_files_go(study, auditor):
    waiting = start_download(study=study, kind=Kind.REPORT, choices=Choices(), user=auditor)
    client = client_of(auditor)
    client.post(reverse("judging:study_download_cancel", args=[study.pk, waiting.pk]))
    assert not carry_out(waiting.pk)
    done = made_for(study, auditor)
    long_ago = timezone.now() - timedelta(days=KEPT_DAYS, seconds=1)
    StudyDownload.objects.filter(pk=done.pk).update(ended_at=long_ago)
    sweep_downloads()
    assert list(StudyDownload.objects.all()) == [waiting]
    assert unused_blobs().filter(media_type="application/zip").exists()
