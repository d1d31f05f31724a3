"""The first page: what waits, what has moved, and what to do where there is nothing."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from judging.desk.home import begin_visit
from judging.models import Dispute
from judging.studies.disputes.services import add_message, decide
from runs.models import AuditEntry, Run, User
from tests.judging.analysis import audited
from tests.judging.factories import adjudicators_of, annotators_of, make_dispute, make_study
from tests.runs.factories import client_of, make_run, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]


def home(user: User) -> str:
    client = client_of(user)
    return client.get("/").content.decode()


@pytest.mark.slow
def test_annotators_see_their_runs_and_disputes() -> None:
    study = make_study(runs=3, adjudicators=1, name="Garden")
    user = annotators_of(study)[0]
    assert "runs to label in Garden" in home(user)
    dispute = make_dispute(study)
    add_message(dispute=dispute, author=annotators_of(study)[1], text="see step 2")
    shown = home(user)
    assert "dispute over your labels" in shown
    assert "see step 2" in shown


@pytest.mark.slow
def test_progress_and_own_disputes_are_read_once() -> None:
    study = make_study(runs=3, adjudicators=1)
    make_dispute(study)
    client = client_of(annotators_of(study)[0])
    client.get("/")
    with CaptureQueriesContext(connection) as queries:
        assert "dispute over your labels" in client.get("/").content.decode()
    asked = [query["sql"] for query in queries]
    assert sum("UNION ALL" in sql and "'wanted'" in sql for sql in asked) == 1
    assert sum("ROW_NUMBER() OVER (PARTITION" in sql for sql in asked) == 1
    assert sum(sql.startswith("SELECT COUNT") and "judging_dispute" in sql for sql in asked) == 1


@pytest.mark.slow
def test_adjudicators_see_what_to_decide() -> None:
    dispute = make_dispute()
    assert "dispute to decide" in home(adjudicators_of(dispute.item.study)[0])


@pytest.mark.slow
def test_adjudicators_see_the_oldest_disputes_and_verdicts_once_they_opened_them() -> None:
    study = make_study(runs=7, adjudicators=1)
    disputes = [make_dispute(study) for _ in range(6)]
    opened = timezone.now() - timedelta(days=3, hours=2)
    Dispute.objects.filter(pk=disputes[1].pk).update(opened_at=opened)
    user = adjudicators_of(study)[0]
    client = client_of(user)
    oldest = [disputes[1], disputes[0], *disputes[2:5]]
    addresses = [reverse("judging:dispute_detail", args=[each.pk]) for each in oldest]
    shown = _waits(client)
    assert re.findall(r'href="(/disputes/\d+/)"', shown) == [addresses[0], *addresses]
    assert "Show all (6)" in shown
    assert "3\xa0days" in shown
    assert shown.count("verdict hidden") == 5
    assert 'class="verdict success"' not in shown
    client.get(addresses[0])
    shown = _waits(client)
    assert shown.count("verdict hidden") == 4
    assert shown.count('class="verdict success"') == shown.count('class="verdict failure"') == 1
    assert 'class="oldest"' not in home(annotators_of(study)[0])


def _waits(client: Client) -> str:
    return client.get("/").content.decode().split('<ul class="waits">')[1].split("</section>")[0]


@pytest.mark.slow
def test_an_overruled_label_is_told_once() -> None:
    dispute = make_dispute()
    study = dispute.item.study
    overruled, right = annotators_of(study)
    judge = adjudicators_of(study)[0]
    decide(dispute=dispute, adjudicator=judge, verdict="failure", rationale="Empty.")
    address = reverse("judging:dispute_detail", args=[dispute.pk])
    shown = home(overruled)
    assert shown.count(f'href="{address}"') == 1
    assert "You were overruled:" in shown
    assert "Dispute decided:" not in shown
    assert "Dispute decided:" in home(right)


@pytest.mark.slow
def test_work_that_waits_for_people_leads_to_it() -> None:
    make_dispute(make_study(runs=3, adjudicators=1))
    shown = home(make_user("engineer"))
    assert f'<a href="{reverse("judging:study_list")}">2 runs wait for labels</a>' in shown
    waits = f'<a href="{reverse("judging:dispute_list")}">1 dispute waits for a decision</a>'
    assert waits in shown
    assert shown.index(waits) < shown.index("In the last week")


@pytest.mark.slow
def test_empty_pages_say_what_to_do() -> None:
    assert "Ask an engineer to add you" in home(make_user("annotator"))
    engineer = make_user("engineer")
    assert "Run an agent" in home(engineer)
    make_run(pictures=False)
    assert "Two annotators label a sample" in home(engineer)


def test_it_takes_logging_in() -> None:
    assert Client().get("/").status_code == 302


def test_a_visit_ends_after_half_an_hour() -> None:
    user = make_user("annotator")
    noon = timezone.now()
    assert begin_visit(user, noon) is None
    assert begin_visit(user, noon + timedelta(minutes=20)) is None
    later = noon + timedelta(hours=2)
    assert begin_visit(user, later) == noon + timedelta(minutes=20)
    assert begin_visit(user, later + timedelta(minutes=5)) == noon + timedelta(minutes=20)


@pytest.mark.slow
def test_the_first_visit_offers_three_steps(settings: Any) -> None:
    settings.ALLOWS_DEMO = True
    client = client_of(make_user("engineer"))
    page = client.get(reverse("judging:home")).content.decode()
    assert page.count('<li class="wait">') == 3
    assert f'hx-get="{reverse("judging:demo_load")}"' in page
    assert f'action="{reverse("runs:import_list")}"' in page
    assert f'href="{reverse("runs:experiment_new")}"' in page
    file = SimpleUploadedFile("runs.json", b"[]")
    sent = client.post(reverse("runs:import_list"), {"file": file, "format": "auto", "look": ""})
    assert sent.status_code == 302
    make_run()
    later = client.get(reverse("judging:home")).content.decode()
    assert f'primary" href="{reverse("judging:study_create")}"' in later
    assert f'action="{reverse("runs:import_list")}"' not in later
    outsider = client_of(make_user("annotator")).get(reverse("judging:home")).content.decode()
    assert "You are not in a study yet" in outsider


@pytest.mark.parametrize("page", ["study_list", "audit_home", "batch_list", "reruns"])
def test_without_runs_they_are_the_next_step(page: str, settings: Any) -> None:
    settings.ALLOWS_DEMO = True
    address = "/reruns/" if page == "reruns" else reverse(f"judging:{page}")
    engineer, steps = client_of(make_user("engineer")), (reverse("runs:import_list"), "/demo/")

    def offers(address: str) -> list[bool]:
        shown = engineer.get(address).content.decode()
        return [f'href="{step}"' in shown.partition("<main")[2] for step in steps]

    assert offers(address) == [True, True]
    other = make_user("annotator")
    may = ["view_run", "view_audit", "rerun_run"]
    other.user_permissions.set(Permission.objects.filter(codename__in=may))
    told = client_of(other).get(address).content.decode()
    assert ("such as an engineer" in told) is (page != "study_list")
    assert steps[0] not in told.partition("<main")[2]
    make_run(pictures=False)
    assert not any(offers(address))


@pytest.mark.slow
def test_an_installation_for_others_offers_no_demo() -> None:
    client = client_of(make_user("engineer"))
    assert reverse("judging:demo_load") not in client.get(reverse("judging:home")).content.decode()
    assert client.post(reverse("judging:demo_load")).status_code == 404
    assert not AuditEntry.objects.filter(kind="demo.asked").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("role", "is_told"), [("engineer", True), ("annotator", False)])
def test_who_may_rerun_is_told_of_work_that_nobody_takes(
    role: str, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.desk.home.neglected", lambda: {"judge"})
    client = client_of(make_user(role))
    asks = f'hx-get="{reverse("judging:home")}"'
    assert (asks in client.get("/").content.decode()) is is_told
    part = client.get("/", headers={"HX-Request": "true"}).content.decode()
    assert ("no worker takes: judge." in part) is is_told
    assert "<html" not in part


@pytest.mark.slow
def test_news_lead_to_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    user = make_user("engineer")
    user.preferences["home"] = {"last": (timezone.now() - timedelta(days=1)).isoformat()}
    user.save()
    now = timezone.now()
    with monkeypatch.context() as earlier:
        earlier.setattr(timezone, "now", lambda: now - timedelta(days=2))
        make_run(pictures=False)
    new = make_run(pictures=False)
    shown = home(user)
    assert "1 run was added." in shown
    address = re.search(r'href="(/runs/[?]added_after=[^"]+)"', shown)
    assert address is not None
    listed = client_of(user).get(address[1]).content.decode()
    assert re.findall(r'data-run="([^"]+)"', listed) == [str(new.pk)]
    monkeypatch.setattr("judging.desk.home.MOST_COUNTED", 1)
    make_run(pictures=False)
    assert "1+ run was added." in home(user)


@pytest.mark.slow
def test_settled_runs_lead_to_the_audit_that_changed() -> None:
    one = audited.study()
    one.add("success")
    user = make_user("engineer")
    news = '<a href="{}">{} run{} got a reference verdict.'
    assert news.format(f"/studies/{one.study.pk}/audit/", 1, "") in home(user)
    audited.study("Another").add("failure")
    assert news.format("/audit/", 2, "s") in home(user)


@pytest.mark.slow
def test_a_rerun_that_ended_worse_is_news_to_who_started_it() -> None:
    user, now = make_user("engineer"), timezone.now()
    original = make_run(pictures=False, outcome="success")
    for outcome in ("failure", "success"):
        make_run(
            task=original.task,
            pictures=False,
            rerun_of=original,
            created_by=user,
            outcome=outcome,
            queued_at=now,
            ended_at=now,
        )
    worse = Run.objects.get(rerun_of=original, outcome="failure")
    assert home(user).count("Rerun ended worse:") == 1
    assert f"/runs/compare/?a={original.pk}&amp;b={worse.pk}" in home(user)
    assert "Rerun ended worse:" not in home(make_user("engineer"))
