"""The audit log: what was done, by whom, kept for good."""

import csv
import io
import json
import re

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client

from judging.evaluating.evaluating import version_of
from judging.evaluating.services import cancel_batch, resume_batch, start_batch
from judging.evaluators.registry import evaluator_named
from judging.models import EvaluationBatch, Label, Unblinding
from judging.studies.access import Role, create_user, record_unblinding, record_unblindings
from judging.studies.disputes.services import decide
from judging.studies.labels.assignment import reassign
from judging.studies.labels.services import submit_label, undo_label
from judging.studies.services import add_guideline, close_study, remove_member
from runs.accounts.actors import Acting, acting_as, of_command
from runs.accounts.audit_log import record_entry
from runs.launching.policies.services import save_policy
from runs.models import ApiToken, AuditEntry
from runs.models.audit_log import KINDS, LOGGED_IN, RUNS_EXPORTED
from tests.judging.factories import (
    adjudicators_of,
    annotators_of,
    label_next,
    make_dispute,
    make_study,
    make_submission,
)
from tests.runs.factories import PASSWORD, client_of, make_task, make_user
from webagent.recovery.retry_policy import PolicyBody

pytestmark = pytest.mark.django_db


def told(*kinds: str) -> list[tuple[str, str, str, str, str]]:
    acts = AuditEntry.objects.filter(kind__in=kinds) if kinds else AuditEntry.objects.all()
    return [(a.kind, a.name, a.about_id, a.before, a.after) for a in acts.order_by("pk")]


def test_the_database_refuses_to_change_or_delete_an_act() -> None:
    act = record_entry(RUNS_EXPORTED, words="all of them")
    statements = ["UPDATE runs_act SET name = 'eve'", "DELETE FROM runs_act"]
    if connection.vendor == "postgresql":
        statements.append("TRUNCATE runs_act")
    else:
        statements.append("REPLACE INTO runs_act SELECT * FROM runs_act")
    for statement in statements:
        with (
            pytest.raises(IntegrityError, match="never changes and is never deleted"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
    assert AuditEntry.objects.get() == act


def test_so_does_the_code() -> None:
    act = record_entry(RUNS_EXPORTED)
    for attempt in (
        act.save,
        act.delete,
        AuditEntry.objects.all().delete,
        lambda: AuditEntry.objects.update(name="eve"),
    ):
        with pytest.raises(TypeError):
            attempt()


def test_an_act_that_did_not_come_about_is_not_written_down() -> None:
    study = make_study(runs=1)
    person = annotators_of(study)[0]
    before = told()
    with transaction.atomic():
        label_next(study, person)
        assert len(told()) == len(before) + 1
        transaction.set_rollback(True)
    assert told() == before
    assert not Label.objects.exists()


def test_a_label_from_submission_to_decision() -> None:
    study = make_study(runs=1, adjudicators=1)
    one, other = annotators_of(study)
    judge = adjudicators_of(study)[0]
    run_id = str(study.items.get().run_id)
    first = label_next(study, one, "failure")
    undo_label(label=first, user=one)
    again = reassign(study=study, user=one, item=study.items.get())
    submit_label(assignment=again, user=one, submission=make_submission("failure", key="2"))
    change = make_submission("unsure", key="3", version=0)
    submit_label(assignment=again, user=one, submission=change)
    label_next(study, other, "success")
    item = study.items.get()
    record_unblinding(user=judge, item=item, reason="dispute")
    decide(dispute=item.dispute, adjudicator=judge, verdict="failure", rationale="w")
    kinds = [name for name in KINDS if name.startswith(("label.", "dispute.", "study.unblinded"))]
    assert told(*kinds) == [
        ("label.submitted", one.username, run_id, "", ""),
        ("label.undone", one.username, run_id, "", ""),
        ("label.submitted", one.username, run_id, "", ""),
        ("label.changed", one.username, run_id, "1", "2"),
        ("label.submitted", other.username, run_id, "", ""),
        ("study.unblinded", judge.username, run_id, "", ""),
        ("dispute.decided", judge.username, run_id, "", ""),
    ]


def test_unblinding_many_runs_is_one_act_of_each_study_and_only_once() -> None:
    person = make_user()
    study, other = make_study(runs=3), make_study(runs=1)
    items = [*study.items.all(), *other.items.all()]
    for _ in range(2):
        record_unblindings(user=person, items=items, reason="audit")
    assert told("study.unblinded") == [
        ("study.unblinded", person.username, str(study.pk), "", "3 runs"),
        ("study.unblinded", person.username, str(other.pk), "", "1 runs"),
    ]
    assert Unblinding.objects.count() == 4


def test_studies_and_policies() -> None:
    study = make_study(runs=2, annotators=1)
    add_guideline(study=study, text="Other words.", author=None)
    remove_member(study=study, user=annotators_of(study)[0])
    close_study(study=study)
    save_policy(name="p", body=PolicyBody(), is_new=True)
    assert [(kind, before, after) for kind, _, _, before, after in told()][-6:] == [
        ("study.guidelines_changed", "", "version 1"),
        ("study.member_set", "", "annotator"),
        ("study.guidelines_changed", "version 1", "version 2"),
        ("study.member_removed", "", ""),
        ("study.closed", "", ""),
        ("policy.saved", "", "version 1"),
    ]


def test_tokens_and_log_outs() -> None:
    client = client_of(make_user("engineer", "eve"))
    form = {"name": "nightly", "scopes": ["runs:read"], "days": "7"}
    page = client.post("/tokens/", form).content.decode()
    token = ApiToken.objects.get()
    client.post(f"/tokens/{token.pk}/revoke/")
    client.post("/logout/")
    acts = AuditEntry.objects.filter(name="eve", via="page").order_by("pk")
    assert [(act.kind, act.about_id) for act in acts] == [
        ("token.made", str(token.pk)),
        ("token.revoked", str(token.pk)),
        ("account.logged_out", str(token.owner_id)),
    ]
    (key,) = set(re.findall(r"cck_[\w-]{20,}", page))
    assert key not in str(AuditEntry.objects.values())


def test_evaluators_and_what_they_are_asked() -> None:
    person, study = make_user("engineer", "eve"), make_study(runs=1)
    matcher = evaluator_named("webarena-strict")
    batch = start_batch(evaluator=matcher, study=study, user=person)
    cancel_batch(batch=batch)
    resume_batch(batch=EvaluationBatch.objects.get())
    version_of(matcher)
    kinds = [kind for kind, *_ in told() if kind.startswith("evaluat")]
    assert kinds == [
        "evaluator.added",
        "evaluation.started",
        "evaluation.cancelled",
        "evaluation.resumed",
    ]


def test_accounts_that_commands_make() -> None:
    create_user(name="new", role=Role.ANNOTATOR, password="a very long new passphrase")
    assert [(kind, after) for kind, *_, after in told("account.made")] == [
        ("account.made", "annotator")
    ]


def test_a_request_is_known_by_its_id_and_address(settings) -> None:
    client = client_of(make_user())
    forged = {"X-Request-ID": "not one of ours;", "X-Forwarded-For": "9.9.9.9"}
    answer = client.get("/acts.csv", headers=forged)
    act = AuditEntry.objects.get(kind="log.downloaded")
    assert (act.via, act.address) == ("page", "127.0.0.1")
    assert answer["X-Request-ID"] == act.request_id != forged["X-Request-ID"]
    settings.PROXIES = 1
    known = {"X-Request-ID": "0123456789abcdef", "X-Forwarded-For": "9.9.9.9, 203.0.113.7"}
    client.get("/acts.csv", headers=known)
    latest = AuditEntry.objects.filter(kind="log.downloaded").first()
    assert latest is not None
    assert (latest.address, latest.request_id) == ("203.0.113.7", "0123456789abcdef")


def test_commands_and_workers_are_told_apart() -> None:
    with acting_as(of_command(["manage.py", "import_tasks"])):
        record_entry(RUNS_EXPORTED)
    record_entry(RUNS_EXPORTED)
    with acting_as(Acting(name="cron\0")):
        record_entry(RUNS_EXPORTED, words="x" * 300)
    assert [act.via for act in AuditEntry.objects.order_by("pk")] == [
        "command import_tasks",
        "worker",
        "worker",
    ]
    latest = AuditEntry.objects.first()
    assert latest is not None
    assert (len(latest.words), latest.name) == (200, "cron\ufffd")


def test_accounts_and_roles_changed_by_an_administrator() -> None:
    client = client_of(make_user("admin", "root"))
    engineer = Group.objects.get(name="engineer")
    mallory = make_user("annotator", "mallory")
    changed = {"username": "mallory", "is_active": "on", "groups": [engineer.pk]} | {
        "date_joined_0": "2026-11-21",
        "date_joined_1": "10:00:00",
    }
    client.post(f"/admin/runs/user/{mallory.pk}/change/", changed)
    secret = "a very long new passphrase"
    client.post(
        f"/admin/runs/user/{mallory.pk}/password/",
        {"password1": secret, "password2": secret, "usable_password": "true"},
    )
    client.post(f"/admin/auth/group/{engineer.pk}/change/", {"name": "engineer"})
    chosen = {"_selected_action": [Group.objects.create(name="guest").pk], "post": "yes"}
    client.post("/admin/auth/group/", chosen | {"action": "delete_selected"})
    acts = AuditEntry.objects.filter(name="root", kind__regex="^(account.[cp]|role)").order_by("pk")
    said = [(act.kind, act.words, act.before, act.after) for act in acts]
    assert [(kind, words) for kind, words, _, _ in said] == [
        ("account.changed", "mallory"),
        ("account.password_changed", "mallory"),
        ("role.changed", "engineer"),
        ("role.changed", "guest"),
    ]
    assert (said[3][3], Group.objects.filter(name="guest").exists()) == ("deleted", False)
    assert ("groups: annotator" in said[0][2], "groups: engineer" in said[0][3]) == (True, True)
    assert "can view audit" in said[2][2].lower() or "run" in said[2][2]
    assert secret not in str(AuditEntry.objects.values())


@pytest.mark.slow
def test_log_ins_and_failures(settings) -> None:
    settings.AXES_ENABLED = True
    settings.AXES_FAILURE_LIMIT = 3
    make_user("annotator", "ann")
    client = Client()
    for name, word in [("ann", PASSWORD), ("ann", "x"), ("my-password-by-mistake", "x")]:
        client.post("/login/", {"username": name, "password": word})
    for _ in range(6):
        client.post("/login/", {"username": "ann", "password": "wrong"})
    acts = AuditEntry.objects.filter(kind__regex="^account.(log|lock)").order_by("pk")
    assert [(act.kind, act.words) for act in acts] == [
        ("account.logged_in", "ann"),
        ("account.login_failed", "ann"),
        ("account.login_failed", "an unknown name"),
        ("account.login_failed", "ann"),
        ("account.locked_out", "ann"),
    ]
    assert "mistake" not in str(AuditEntry.objects.values())


@pytest.mark.parametrize("role", ["annotator", "adjudicator"])
def test_the_page_is_not_for_everybody(role) -> None:
    client = client_of(make_user(role))
    assert [client.get(path).status_code for path in ("/acts/", "/acts.csv")] == [403, 403]


@pytest.mark.slow
def test_the_page_filters_and_goes_on_by_key(django_assert_max_num_queries) -> None:
    person = make_user("engineer", "eve")
    client = client_of(person)
    for n in range(250):
        record_entry(RUNS_EXPORTED, about=("run", n % 2), words=f"export {n}", user=person)
    with django_assert_max_num_queries(12):
        page = client.get("/acts/?did=run.exported&about=run&about_id=1").content.decode()
    assert [n for n in range(250) if f"export {n}<" in page] == list(range(51, 250, 2))
    older = page.split('rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
    rest = client.get(f"/acts/{older}").content.decode()
    assert [n for n in range(250) if f"export {n}<" in rest] == list(range(1, 51, 2))
    none = client.get("/acts/?who=nobody&until=2020-01-01").content.decode()
    assert "Nothing matches these filters" in none
    odd = "/acts/?since=yesterday&before=9999999999999999999999&did=zz&who=%00"
    assert client.get(odd).status_code == 200


@pytest.mark.slow
def test_log_ins_stand_apart_from_changes() -> None:
    person = make_user("engineer", "eve")
    client = client_of(person)
    record_entry(RUNS_EXPORTED, words="a change", user=person)
    record_entry(LOGGED_IN, words="a visit", user=person)
    shown = {
        query: ("a change" in page, "a visit" in page)
        for query in ("", "show=changes", "show=log-ins", "show=all", "did=account.logged_in")
        for page in [client.get(f"/acts/?{query}").content.decode()]
    }
    assert shown == {
        "": (True, False),
        "show=changes": (True, False),
        "show=log-ins": (False, True),
        "show=all": (True, True),
        "did=account.logged_in": (False, True),
    }
    page = client.get("/acts/").content.decode()
    assert "/acts.csv?show=changes" in page
    assert b"a visit" in b"".join(client.get("/acts.csv"))


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Lima"])
def test_days_at_the_ends_of_the_calendar_filter_nothing(zone: str, settings) -> None:
    settings.TIME_ZONE = zone
    client = client_of(make_user("engineer", "eve"))
    for query in ("since=0001-01-01", "until=9999-12-31", "since=9999-12-31&until=0001-01-01"):
        assert client.get(f"/acts/?{query}").status_code == 200


def test_the_file_holds_what_the_filters_choose() -> None:
    client = client_of(make_user("engineer", "eve"))
    record_entry(RUNS_EXPORTED, words="=cmd|' /C calc'!A0", after="\uff1d1+1")
    answer = client.get("/acts.csv?did=run.exported")
    rows = list(csv.DictReader(io.StringIO(b"".join(answer).decode())))
    assert [(row["words"], row["after"]) for row in rows] == [("'=cmd|' /C calc'!A0", "'\uff1d1+1")]
    lines = b"".join(client.get("/acts.jsonl")).decode().splitlines()
    newest = json.loads(lines[0])
    assert (newest["did"], newest["who"]) == ("log.downloaded", "eve")


def test_every_file_that_goes_out_is_written_down() -> None:
    client = client_of(make_user("engineer", "eve"))
    task_set = make_task().task_set
    client.get(f"/tasks/sets/{task_set.pk}/milestones.json")
    client.get("/acts/")
    act = AuditEntry.objects.get(kind__endswith="downloaded")
    assert (act.name, act.after) == ("eve", f"/tasks/sets/{task_set.pk}/milestones.json")
    assert "milestones" in act.words


def test_who_is_blind_on_a_run_reads_no_details() -> None:
    study = make_study(runs=1, name="study of zq-agent")
    blind = annotators_of(study)[0]
    blind.groups.add(Group.objects.get(name="engineer"))
    record_entry(RUNS_EXPORTED, words="zq-agent", before="zq-before", after="zq-after")
    client = client_of(blind)
    for path in ("/acts/", "/acts.csv", "/acts.jsonl"):
        answer = client.get(path)
        text = b"".join(answer) if answer.streaming else answer.content
        assert b"run.exported" in text or b"exported runs" in text
        assert b"zq-" not in text


def test_who_is_blinded_reads_of_nobody_elses_labels_and_disputes() -> None:
    """Not when they labelled which run either: that is how long each took."""
    study = make_study(runs=2, adjudicators=1)
    viewer, other = annotators_of(study)
    viewer.groups.add(Group.objects.get(name="engineer"))
    dispute = make_dispute(study)
    judge = adjudicators_of(study)[0]
    decide(dispute=dispute, adjudicator=judge, verdict="failure", rationale="w")
    client = client_of(viewer)

    def told_on_page() -> list[str]:
        rows = csv.DictReader(io.StringIO(b"".join(client.get("/acts.csv")).decode()))
        return [row["who"] for row in rows if row["did"] in ("label.submitted", "dispute.decided")]

    assert told_on_page() == [viewer.username]
    assert judge.username.encode() not in client.get("/acts/").content
    close_study(study=study)
    assert judge.username.encode() in client.get("/acts/").content
    assert told_on_page() == [judge.username, other.username, viewer.username]


def test_the_command_writes_all_of_it(tmp_path) -> None:
    for n in range(3):
        record_entry(RUNS_EXPORTED, words=f"export {n}")
    file = tmp_path / "acts.jsonl"
    call_command("export_audit_log", str(file), stdout=(out := io.StringIO()))
    assert "3 entries" in out.getvalue()
    assert [json.loads(line)["words"] for line in file.read_text().splitlines()] == [
        "export 0",
        "export 1",
        "export 2",
    ]
    call_command("export_audit_log", str(tmp_path / "a.csv"), "--since", "2100-01-01", stdout=out)
    assert "\n0 entries" in out.getvalue()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_flushing_is_the_one_way_in_which_acts_go() -> None:
    record_entry(RUNS_EXPORTED)
    call_command("flush", interactive=False, verbosity=0)
    assert not AuditEntry.objects.exists()
    record_entry(RUNS_EXPORTED)
    with pytest.raises(IntegrityError), connection.cursor() as cursor:
        cursor.execute("DELETE FROM runs_act")
