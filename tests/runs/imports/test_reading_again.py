"""A kept upload is read again by better importers: better runs, new ones, no doubles."""

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from judging.models import Study, StudyItem
from runs.imports.importing import import_upload, sweep_imports
from runs.imports.services import GoneError, delete_file, import_after_look, read_again
from runs.models import AuditEntry, ImportJob, Run, RunOfImport
from runs.storage.usage import named_deleted
from tests.runs.factories import make_user
from tests.webagent.trajectory.formats import DATA
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.files.recognition import PlacesReader, Recognition
from webagent.trajectory.formats.agentlab.reader import AgentLabReader

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("place"), pytest.mark.slow]
HISTORY = DATA / "browser_use" / "find_price"


@contextmanager
def older_importer(monkeypatch: Any) -> Iterator[None]:
    """Inside, the importer of yesterday reads: it saw no thoughts."""
    read = PlacesReader.read

    def without_thoughts(self: Any, *args: Any) -> Any:
        for found in read(self, *args):
            assert isinstance(found, RunBundle)
            steps = tuple(s.model_copy(update={"thought": None}) for s in found.steps)
            yield replace(found, steps=steps)

    with monkeypatch.context() as patched:
        patched.setattr(PlacesReader, "read", without_thoughts)
        yield


def zipped(**folders: Path) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, folder in folders.items():
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    archive.write(path, f"{name}/{path.relative_to(folder)}")
    return out.getvalue()


def sent(content: bytes, settings: Any, **fields: Any) -> ImportJob:
    """An import that is through, with its file kept."""
    given = {"created_by": make_user(), "keeps_file": True} | fields
    job = ImportJob(file_name="a.zip", size=len(content), **given)
    job.path = str(settings.UPLOAD_DIR / f"{job.pk}.zip")
    Path(job.path).write_bytes(content)
    job.save()
    import_upload(job.pk)
    job.refresh_from_db()
    return job


def looked(job: ImportJob) -> ImportJob:
    reading = read_again(job=job, user=job.created_by)
    import_upload(reading.pk)
    reading.refresh_from_db()
    return reading


def stored(job: ImportJob) -> ImportJob:
    import_after_look(job=job, answers={})
    import_upload(job.pk)
    job.refresh_from_db()
    return job


def test_a_better_importer_betters_the_run_at_its_address(settings, monkeypatch):
    with older_importer(monkeypatch):
        job = sent(zipped(one=HISTORY), settings)
    run = Run.objects.get()
    assert RunOfImport.objects.get().run_id == run.pk
    reading = looked(job)
    assert reading.survey["again"]["counts"]["replaced"] == 1
    assert Run.objects.get().content_hash == run.content_hash
    report = stored(reading).report
    assert (report["counts"]["replaced"], report["counts"]["imported"]) == (1, 0)
    again = Run.objects.get()
    assert again.pk == run.pk
    assert again.steps.order_by("index")[0].thought == "Start at the shop."
    counts = stored(looked(job)).report["counts"]
    assert (counts["already_there"], counts["replaced"], counts["imported"]) == (1, 0, 0)


def test_what_nobody_understood_comes_in_without_a_new_upload(settings, monkeypatch, client):
    with monkeypatch.context() as blind:
        for reader in (PlacesReader, AgentLabReader):
            blind.setattr(reader, "find", lambda *_: Recognition())
        agentlab = next((DATA / "agentlab" / "scripted").iterdir())
        job = sent(zipped(history=HISTORY, agentlab=agentlab), settings)
    assert (job.report["counts"]["rejected"], Run.objects.count()) == (1, 0)
    client.force_login(job.created_by)
    page = client.get(job.get_absolute_url()).content.decode()
    assert reverse("runs:import_read_again", args=[job.pk]) in page
    answer = client.post(reverse("runs:import_read_again", args=[job.pk]))
    reading = ImportJob.objects.get(reads_again=job)
    assert answer.url == reading.get_absolute_url()
    assert client.post(reverse("runs:import_read_again", args=[job.pk])).url == answer.url
    import_upload(reading.pk)
    assert "<dd>new</dd>" in client.get(answer.url).content.decode()
    reading.refresh_from_db()
    assert stored(reading).report["counts"]["imported"] == 2
    assert Path(job.path).exists()
    assert AuditEntry.objects.filter(kind="import.read_again").count() == 1


def test_what_is_judged_stays_and_what_was_deleted_stays_out(settings, monkeypatch, capsys):
    with older_importer(monkeypatch):
        job = sent(zipped(one=HISTORY), settings)
    run = Run.objects.get()
    StudyItem.objects.create(study=Study.objects.create(name="Garden"), run=run, position=1)
    call_command("reimport", "--import", str(job.pk), "--dry-run")
    assert "1 left as they were." in capsys.readouterr().out
    report = stored(looked(job)).report
    assert report["read_again"][0]["reason"] == "it is in the study Garden"
    assert Run.objects.get().content_hash == run.content_hash
    StudyItem.objects.all().delete()
    with transaction.atomic(), named_deleted(run, "not wanted"):
        run.delete()
    call_command("reimport", "--import", str(job.pk))
    assert "1 left." in capsys.readouterr().out
    assert not Run.objects.exists()


def test_files_rest_so_long_and_no_more_than_fits(settings):
    jobs = [sent(b"x" * 100, settings) for _ in range(3)]
    gone = sent(b"x" * 100, settings, keeps_file=False)
    assert not Path(gone.path).exists()
    settings.ENV = settings.ENV.model_copy(update={"UPLOAD_KEEP_BYTES": 250})
    sweep_imports()
    assert [Path(job.path).exists() for job in jobs] == [False, True, True]
    long_ago = timezone.now() - timedelta(days=settings.ENV.UPLOAD_KEEP_DAYS + 1)
    ImportJob.objects.filter(pk=jobs[1].pk).update(ended_at=long_ago)
    sweep_imports()
    assert [Path(job.path).exists() for job in jobs] == [False, False, True]
    assert ImportJob.objects.filter(keeps_file=True).get() == jobs[2]
    with pytest.raises(GoneError):
        read_again(job=jobs[0], user=jobs[0].created_by)
    delete_file(job=jobs[2])
    assert not Path(jobs[2].path).exists()
