"""Labels made elsewhere, sent in the browser: looked at first, then stored, whole or not at all."""

import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from judging.models import Evaluation, Label, LabelImport, Study, StudyMember, Unblinding
from judging.portability.judgements.label_files import import_labels
from judging.portability.label_imports import services as label_importing
from judging.portability.label_imports import views
from judging.portability.label_imports.services import (
    carry_out,
    store_after_look,
    sweep_label_imports,
)
from runs.imports.importing import sweep_imports
from runs.models import AuditEntry, Run, User
from tests.judging.factories import annotators_of, make_label, make_study
from tests.judging.portability.test_import_labels import said
from tests.runs.factories import make_run, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]
URL = "/studies/labels/"
STUDY = "Annotated elsewhere"
EVIL = "<img src=x onerror=zx()>"
State = LabelImport.State


@pytest.fixture(autouse=True)
def place(settings, tmp_path, monkeypatch) -> list[str]:
    """A folder for uploads of its own, and a list of the messages sent."""
    settings.UPLOAD_DIR = tmp_path / "uploads"
    settings.UPLOAD_DIR.mkdir()
    sent: list[str] = []
    monkeypatch.setattr(
        "runs.queue.workers.current_app.send_task", lambda name, args, **_: sent.append(args[0])
    )
    return sent


@pytest.fixture
def engineer(client: Client) -> User:
    user = make_user("engineer")
    client.force_login(user)
    return user


def table(*rows: str) -> bytes:
    return "\n".join(["run_id,annotator,evaluator,verdict,rationale", *rows, ""]).encode()


def good(first: Run, second: Run) -> bytes:
    return table(
        f"{first.pk},ann,,success,",
        f"{first.pk},bob,,success,",
        f"{second.pk},ann,,failure,=1+1",
        f"{second.pk},bob,,success,",
        f"{second.pk},,my judge,passed,",
    )


def send(client: Client, content: bytes, study: str = STUDY, name: str = "labels.csv") -> Any:
    return client.post(URL, {"study": study, "file": SimpleUploadedFile(name, content)})


def looked(client: Client, content: bytes, **fields: str) -> LabelImport:
    answer = send(client, content, **fields)
    assert answer.status_code == 302, answer.content.decode()
    sent = LabelImport.objects.latest("created_at")
    assert carry_out(sent.pk)
    sent.refresh_from_db()
    assert sent.state == State.FINISHED, sent.problem
    return sent


def page_of(client: Client, sent: LabelImport) -> str:
    text: str = client.get(sent.get_absolute_url()).content.decode()
    return text


def decide(client: Client, sent: LabelImport, **data: str) -> None:
    assert client.post(f"{sent.get_absolute_url()}decide/", data).status_code == 302


def store(client: Client, sent: LabelImport) -> None:
    decide(client, sent)
    assert carry_out(sent.pk)
    sent.refresh_from_db()


def two_runs() -> tuple[Run, Run]:
    return make_run(pictures=False), make_run(pictures=False)


@pytest.mark.parametrize("role", ["annotator", "adjudicator"])
def test_it_is_not_for_who_labels_or_adjudicates(client, role):
    user = make_user(role)
    client.force_login(user)
    sent = LabelImport.objects.create(created_by=user, path="x", size=1, study_name="s")
    for path in (URL, sent.get_absolute_url()):
        assert client.get(path).status_code == 403
    assert send(client, table()).status_code == 403
    assert client.post(f"{sent.get_absolute_url()}decide/").status_code == 403
    assert "studies/labels" not in client.get("/studies/").content.decode()


def test_a_file_is_for_who_sent_it(client, engineer):
    sent = looked(client, good(*two_runs()))
    client.force_login(make_user("engineer"))
    assert client.get(sent.get_absolute_url()).status_code == 404
    assert client.post(f"{sent.get_absolute_url()}decide/").status_code == 404
    assert sent.file_name not in client.get(URL).content.decode()


def test_a_look_stores_nothing_and_the_button_what_the_command_stores(
    client, engineer, place, tmp_path, django_capture_on_commit_callbacks
):
    runs = two_runs()
    make_user("annotator", "ann")
    with django_capture_on_commit_callbacks(execute=True):
        send(client, good(*runs))
    sent = LabelImport.objects.get()
    assert place == [str(sent.pk)]
    assert carry_out(sent.pk)
    sent.refresh_from_db()
    assert not Study.objects.exists()
    assert not Label.objects.exists()
    assert not Evaluation.objects.exists()
    assert not User.objects.filter(username="bob").exists()
    assert not AuditEntry.objects.filter(kind="label.imported").exists()
    page = page_of(client, sent)
    assert "Store 5 rows" in page
    assert page.index("already there") < page.index("new, without log-in")
    store(client, sent)
    assert (sent.state, sent.is_refused, sent.n_new) == (State.FINISHED, False, 5)
    assert not Path(sent.path).exists()
    study = Study.objects.get()
    page = page_of(client, sent)
    for name in ("audit", "study_detail"):
        assert reverse(f"judging:{name}", args=[study.pk]) in page
    act = AuditEntry.objects.get(kind="label.imported")
    assert (act.user_id, act.words, act.about_id) == (engineer.pk, STUDY, str(study.pk))
    assert Unblinding.objects.filter(user=engineer, study=study).count() == 2
    file = tmp_path / "labels.csv"
    file.write_bytes(good(*runs))
    call_command("import_labels", str(file), study="By command", stdout=io.StringIO())
    assert said(STUDY) == said("By command") != []


def test_pressed_twice_and_sent_twice_it_is_stored_once(client, engineer):
    content = good(*two_runs())
    sent = looked(client, content)
    stale = LabelImport.objects.get(pk=sent.pk)
    for _ in range(2):
        decide(client, sent)
    assert carry_out(sent.pk)
    assert not carry_out(sent.pk)
    decide(client, sent)
    decide(client, sent, discard="")
    store_after_look(sent=stale)
    assert not carry_out(sent.pk), "it is through, whatever is pressed"
    sent.refresh_from_db()
    assert sent.state == State.FINISHED
    again = looked(client, content)
    assert not again.awaits_confirmation
    assert "nothing new" in page_of(client, again)
    decide(client, again)
    assert not carry_out(again.pk)
    assert (Label.objects.count(), Evaluation.objects.count()) == (4, 1)


def test_rows_that_cannot_be_taken_are_named_and_nothing_is_stored(client, engineer, monkeypatch):
    monkeypatch.setattr(label_importing, "MOST_SHOWN", 3)
    run, _ = two_runs()
    bad = [f"{run.pk},ann,,{EVIL},"] * 4
    sent = looked(client, table(f"{run.pk},{EVIL},,success,", *bad).replace(b"rationale", b"<zx>"))
    page = page_of(client, sent)
    assert [row["line"] for row in sent.report["listed"]] == [3, 4, 5]
    assert "4 of 5 rows cannot be imported" in page
    assert "The first 3 of 4." in page
    assert "verdict" in page
    assert "decide/" not in page
    assert "<zx>" not in page
    assert EVIL not in page
    assert "&lt;img" in page, "the name of the person"
    decide(client, sent)
    assert not carry_out(sent.pk)
    assert not Path(sent.path).exists()
    assert not Label.objects.exists()


def test_what_became_bad_since_the_look_stores_nothing(client, engineer):
    runs = two_runs()
    sent = looked(client, good(*runs))
    decide(client, sent)
    import_labels(io.BytesIO(table(f"{runs[1].pk},bob,,failure,")), study=STUDY)
    assert carry_out(sent.pk)
    sent.refresh_from_db()
    assert sent.is_refused
    assert Label.objects.count() == 1
    assert "Nothing is stored" in page_of(client, sent)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"PK\x03\x04\x14\x00", "CSV UTF-8"),
        (b"[{}]", "one object a line"),
        ("ラン,判定\n".encode("shift-jis"), "UTF-8"),
        (b"name,verdict\n1,2\n", "names no column"),
        (b"run_id,verdict\n" + b"x" * 300, "at most"),
    ],
)
def test_a_file_that_is_no_table_is_told_beside_its_field(
    client, engineer, settings, monkeypatch, content, words
):
    monkeypatch.setattr(views, "MOST_BYTES", 200)
    answer = send(client, content)
    page = answer.content.decode()
    assert answer.status_code == 422
    error = page.split('id="id_file_error"')[1].split("</ul>")[0]
    assert words in error
    assert 'aria-invalid="true"' in page
    assert "id_file_error" in page.split('id="id_file"')[0].rsplit("<input", 1)[1] + page
    assert list(settings.UPLOAD_DIR.iterdir()) == []


def test_studies_that_people_work_on_are_not_entered(client, engineer):
    here = make_study(runs=1)
    answer = send(client, table("1,ann,,success,"), study=here.name)
    assert answer.status_code == 422
    error = answer.content.decode().split('id="id_study_error"')[1].split("</ul>")[0]
    assert "imports cannot add to it" in error
    assert f"{URL}?study=" not in client.get(f"/studies/{here.pk}/").content.decode()
    run = make_run(pictures=False)
    sent = looked(client, table(f"{run.pk},ann,,success,"))
    make_study(runs=[run], name=STUDY)
    store(client, sent)
    assert (sent.state, Label.objects.count()) == (State.FAILED, 0)


def test_an_imported_study_can_be_added_to_from_its_page(client, engineer):
    runs = two_runs()
    sent = looked(client, good(*runs))
    store(client, sent)
    study = Study.objects.get()
    address = f"{URL}?study={study.pk}"
    assert address in client.get(f"/studies/{study.pk}/").content.decode()
    assert f'value="{STUDY}"' in client.get(address).content.decode()
    for odd in ("x", "\u0663", "9" * 400):
        assert client.get(URL, {"study": odd}).status_code == 200


def blind_engineer(client: Client, run: Run) -> User:
    user = make_user("engineer")
    study = make_study(runs=[run])
    StudyMember.objects.create(study=study, user=user, part=StudyMember.Part.ANNOTATOR)
    client.force_login(user)
    return user


def test_who_is_blind_on_a_run_is_told_nothing_of_it(client):
    """Guesses at labels, verdicts, agent, seed and hash are answered alike, right or wrong."""
    hidden = make_run(pictures=False, seed=3, content_hash="c" * 64)
    other = make_run(pictures=False)
    zoe = make_user("annotator", "zoe")
    study = make_study(runs=[hidden], annotators=[zoe, blind_engineer(client, hidden)])
    make_label(study.items.get(), zoe, "failure")
    header = "run_id,content_hash,task,agent,seed,annotator,verdict"
    task = hidden.task.external_id
    guesses = [
        (f"{hidden.pk},,,,,zoe,failure", f"{hidden.pk},,,,,zoe,success"),
        (f",{'c' * 64},,,,zoe,failure", f",{'d' * 64},,,,zoe,failure"),
        (f",,{task},{hidden.agent.name},3,zoe,failure", f",,{task},nobody,4,zoe,failure"),
    ]
    for right, wrong in guesses:
        told = [
            looked(client, f"{header}\n{row}\n".encode()).report["listed"] for row in (right, wrong)
        ]
        assert told[0] == told[1] != []
    assert looked(client, f"{header}\n{other.pk},,,,,zoe,failure\n".encode()).awaits_confirmation


def test_an_imported_study_with_a_hidden_run_is_not_entered(client, engineer):
    runs = two_runs()
    sent = looked(client, good(*runs))
    store(client, sent)
    blind_engineer(client, runs[0])
    answer = send(client, table(f"{runs[1].pk},eve,,success,"))
    assert answer.status_code == 422
    assert "to judge yourself" in answer.content.decode()
    page = client.get(f"{URL}?study={Study.objects.get(name=STUDY).pk}").content.decode()
    assert STUDY not in page


def test_who_lost_the_right_meanwhile_stores_nothing(client, engineer):
    sent = looked(client, good(*two_runs()))
    decide(client, sent)
    engineer.groups.clear()
    assert carry_out(sent.pk)
    sent.refresh_from_db()
    assert (sent.state, Label.objects.count()) == (State.FAILED, 0)


def test_a_worker_that_is_told_to_stop_leaves_nothing_behind(client, engineer, monkeypatch):
    monkeypatch.setattr("judging.portability.judgements.label_files.AT_ONCE", 1)
    sent = looked(client, good(*two_runs()))
    decide(client, sent)
    monkeypatch.setattr("runs.imports.importing.is_stopping", lambda: True)
    assert carry_out(sent.pk)
    sent.refresh_from_db()
    assert (sent.state, Label.objects.count()) == (State.QUEUED, 0)
    monkeypatch.setattr("runs.imports.importing.is_stopping", lambda: False)
    assert carry_out(sent.pk)
    assert Label.objects.count() == 4


def test_a_worker_that_lost_the_work_stores_nothing(client, engineer, monkeypatch):
    sent = looked(client, good(*two_runs()))
    decide(client, sent)
    with monkeypatch.context() as patched:
        patched.setattr(
            "runs.imports.importing.is_stopping",
            lambda: LabelImport.objects.update(lease_token=99) < 0,
        )
        assert carry_out(sent.pk)
    assert not Label.objects.exists()
    assert not Study.objects.exists()
    LabelImport.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=5))
    assert carry_out(sent.pk)
    sent.refresh_from_db()
    assert (sent.is_refused, sent.n_new, Label.objects.count()) == (False, 5, 4)


def test_a_busy_database_is_no_fault_of_the_file(client, engineer, monkeypatch):
    sent = looked(client, good(*two_runs()))
    decide(client, sent)

    def locked(*_: object, **__: object) -> None:
        raise OperationalError("database is locked")

    with monkeypatch.context() as patched:
        patched.setattr("judging.portability.judgements.label_files._close", locked)
        assert carry_out(sent.pk)
    sent.refresh_from_db()
    assert (sent.state, Label.objects.count()) == (State.RUNNING, 0)
    assert "tried again by itself" in page_of(client, sent)
    LabelImport.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=5))
    assert carry_out(sent.pk)
    sent.refresh_from_db()
    assert (sent.state, sent.problem, Label.objects.count()) == (State.FINISHED, "", 4)


def test_a_file_goes_when_it_is_discarded_or_forgotten(client, engineer, settings):
    content = good(*two_runs())
    discarded, forgotten = looked(client, content), looked(client, content)
    decide(client, discarded, discard="")
    assert not Path(discarded.path).exists()
    decide(client, discarded)
    assert not carry_out(discarded.pk)
    sweep_label_imports()
    sweep_imports()
    assert Path(forgotten.path).exists()
    settings.ENV = settings.ENV.model_copy(update={"ORPHAN_GRACE_S": 0})
    sweep_imports()
    assert not Path(forgotten.path).exists()
    answer = client.post(f"{forgotten.get_absolute_url()}decide/", follow=True)
    assert "Send it again" in answer.content.decode()


def test_wide_text_of_spreadsheets_is_read_and_the_page_is_japanese(client, engineer):
    run = make_run(pictures=False)
    text = f"run_id\tannotator\tverdict\trationale\r\n{run.pk}\t花子\tsuccess\t注文は済みました\r\n"
    sent = looked(client, text.encode("utf-16"), name="ラベル.txt")
    client.cookies["django_language"] = "ja"
    with translation.override("ja"):
        page = page_of(client, sent)
    assert "花子" in page
    assert "Store 1 row" not in page
    assert "1 行を保存" in page


def test_a_person_with_labels_here_stays_blind_on_what_came(client, engineer):
    run = make_run(pictures=False)
    blind = annotators_of(make_study(runs=[run]))[0]
    sent = looked(client, table(f"{run.pk},ann,,failure,Secretword"))
    store(client, sent)
    client.force_login(blind)
    assert "Secretword" not in client.get(f"/runs/{run.pk}/judgements/").content.decode()
