"""A study's bundle changes nobody's role and guidelines here, and the audit log names it."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from judging.models import Study
from judging.portability.study_bundles.services import import_study
from judging.studies.access import STUDY_IMPORTED
from runs.api.push import NO_STUDIES
from runs.imports.importing import import_upload
from runs.imports.services import start_import
from runs.models import AuditEntry, ImportJob, Scope, User
from tests.judging.factories import make_study
from tests.judging.portability.test_study_bundles import bundle_of, changed
from tests.runs.api.pushing import Pusher
from tests.runs.factories import make_run, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(db) -> Study:
    return make_study(runs=[make_run(pictures=False, steps=1)])


@pytest.fixture
def bundle(study: Study, tmp_path: Path) -> Path:
    return bundle_of(study, tmp_path / "study.zip")


def entries() -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(kind=STUDY_IMPORTED.name))


def test_a_study_that_is_here_keeps_its_members_and_guidelines(study, bundle, tmp_path):
    engineer = make_user("engineer", "eve")

    def join(lines: list[Any]) -> None:
        lines[0]["part"] = "adjudicator"
        lines += [{"part": "adjudicator", "user": name} for name in ("eve", "nobody")]

    def rewrite(lines: list[Any]) -> None:
        lines.append({**lines[0], "version": 2, "text": "Always a success."})

    first = changed(bundle, "members.jsonl", join, tmp_path / "first.zip")
    second = changed(first, "guidelines.jsonl", rewrite, tmp_path / "second.zip")
    before = [list(rows.order_by("pk").values()) for rows in (study.members, study.guidelines)]
    file = SimpleUploadedFile("study.zip", second.read_bytes())
    job = start_import(file=file, user=engineer, format="auto")
    assert import_upload(job.pk)
    job.refresh_from_db()
    left_out = [problem["reason"] for problem in job.report["problems"]]
    assert len(left_out) == 4, left_out
    assert "guidelines 2: are otherwise here" in left_out
    assert "member nobody: has another part here, or none" in left_out
    after = [list(rows.order_by("pk").values()) for rows in (study.members, study.guidelines)]
    assert after == before
    assert not User.objects.filter(username="nobody").exists()
    assert entries() == [], "nothing was done to it"


def test_no_run_enters_a_study_that_is_here_with_people_who_are_no_members(study, bundle, tmp_path):
    study.items.get().delete()
    waits = {"state": "leased", "leased_until": "2026-11-20T09:30:00Z"}
    person = {"user": "nobody", "opened_at": "2026-11-20T09:30:00Z", **waits}
    path = changed(
        bundle, "items.jsonl", lambda lines: lines[0].update(assignments=[person]), tmp_path / "a"
    )
    assert "no member here" in import_study(path).study.conflicts[0]
    assert not study.items.exists()
    assert import_study(bundle).study.conflicts == []
    assert study.items.exists()


def test_what_an_import_brought_stands_in_the_audit_log(study, bundle):
    study.delete()
    engineer = make_user("engineer")
    file = SimpleUploadedFile("study.zip", bundle.read_bytes())
    assert import_upload(start_import(file=file, user=engineer, format="auto").pk)
    [entry] = entries()
    assert (entry.user_id, entry.about_id) == (engineer.pk, str(Study.objects.get().pk))
    assert "1 guidelines, 1 items" in entry.after
    assert "2 members" in entry.after
    import_study(bundle)
    assert len(entries()) == 1, "nothing was missing"


@pytest.mark.parametrize("scopes", [[Scope.RUNS_WRITE], list(Scope)])
def test_no_token_brings_in_a_study(bundle, scopes):
    pusher = Pusher(make_user("engineer"), *scopes)
    answer = pusher.client.post(
        "/api/v1/imports", bundle.read_bytes(), content_type="application/zip"
    )
    assert (answer.status_code, answer.json()["detail"]) == (403, NO_STUDIES)
    assert not ImportJob.objects.exists()
