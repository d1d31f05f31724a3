"""What the audit page shows."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.judging.analysis import audited
from tests.judging.analysis.audits.pages import open_page
from tests.runs.factories import client_of, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]


def test_shows_the_papers_figures(paper: audited.Audited) -> None:
    page = open_page(client_of(audited.auditor()), "audit", paper.study.pk).content.decode()
    assert "75 runs with a reference verdict" in page
    assert "21.3 %" in page
    assert "13.6–31.9" in page
    judge = audited.evaluator()
    for cell in ("tp", "fn", "tn", "fp"):
        assert reverse("judging:audit_cells", args=[paper.study.pk, judge.pk, cell]) in page


def test_says_what_each_evaluator_gets_wrong_the_worst_first() -> None:
    world = audited.study()
    bad = audited.evaluator("bad")
    audited.judged(world, bad, ["tp", "tp", "fn", "fp", "tn", "?s"])
    for item in world.study.items.all():
        audited.evaluation(item.run, audited.evaluator("always"), "passed", score=1.0)
    client = client_of(audited.auditor())
    page = client.get(reverse("judging:audit", args=[world.study.pk])).content.decode()
    sentences = re.search(r'<ul class="findings">(.*?)</ul>', page, re.DOTALL)
    assert sentences
    words = " ".join(re.sub(r"<[^>]+>", " ", sentences[1]).split())
    assert words == (
        "always misses 0 of 4 successes (0.0 %, 0.0–49.0)"
        " · passes 2 of 2 failures (100.0 %, 34.2–100.0) Repair: …"
        " bad misses 1 of 3 successes (33.3 %, 6.1–79.2)"
        " · passes 1 of 2 failures (50.0 %, 9.5–90.5) · no verdict on 1 Repair: …"
    )
    assert reverse("judging:audit_cells", args=[world.study.pk, bad.pk, "fn"]) in sentences[1]


@pytest.mark.parametrize(
    ("name", "tab"),
    [
        ("audit_progress", "audit_progress"),
        ("audit_detectors", "audit_detectors"),
        ("audit_failures", "audit_failures"),
        ("audit_failure_runs", "audit_failures"),
    ],
)
def test_pages_on_the_agents_are_among_the_experiments(
    mixed: audited.Audited, name: str, tab: str
) -> None:
    client = client_of(make_user("engineer"))
    page = open_page(client, name, mixed.study.pk).content.decode()
    assert re.findall(r'href="([^"]+)" aria-current="true"', page)[:1] == ["/experiments/"]
    address = reverse(f"judging:{tab}", args=[mixed.study.pk])
    assert re.findall(r'href="([^"]+)" aria-current="page"', page) == [address]
    assert reverse("judging:audit_people", args=[mixed.study.pk]) not in page


def test_pipelines_have_a_name_that_says_what_they_are_and_files_keep_theirs() -> None:
    world = audited.study()
    audited.judged(world, audited.evaluator("before"), ["tp", "fn"])
    client = client_of(audited.auditor())
    page = client.get(reverse("judging:audit", args=[world.study.pk])).content.decode()
    assert "<strong>strict + judge</strong>" in page
    file = client.get(reverse("judging:audit_table", args=[world.study.pk, "figures", "csv"]))
    lines = b"".join(file).decode().splitlines()
    assert {line.split(",")[0] for line in lines[1:]} == {"before"}


def test_nothing_inline_that_the_policy_refuses(paper: audited.Audited) -> None:
    client = client_of(audited.auditor())
    for name in ("audit", "audit_pictures", "audit_agreement"):
        page = open_page(client, name, paper.study.pk).content.decode()
        assert ("<svg" in page) == (name == "audit_pictures")
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)


def test_names_from_outside_are_escaped_in_page_and_pictures() -> None:
    world = audited.study("<b>bold</b>")
    hostile = '<script>alert("1")</script>'
    audited.judged(world, audited.evaluator(hostile), ["tp", "fn"])
    client = client_of(audited.auditor())
    for name, *more in (["audit"], ["audit_pictures"], ["audit_picture", "fnr"]):
        text = open_page(client, name, world.study.pk, *more).content.decode()
        assert "<script>alert" not in text
        assert "&lt;script&gt;" in text
        assert "<b>bold" not in text


def test_every_mark_of_a_picture_leads_to_its_runs(paper: audited.Audited) -> None:
    client = client_of(audited.auditor())
    page = open_page(client, "audit_pictures", paper.study.pk).content.decode()
    judge = audited.evaluator().pk
    for cell in ("fn", "fp"):
        address = reverse("judging:audit_cells", args=[paper.study.pk, judge, cell])
        assert f'<a href="{address}">' in page


def test_parts_come_alone_to_htmx_and_on_a_page_without(paper: audited.Audited) -> None:
    client = client_of(audited.auditor())
    for name in ("audit_pictures", "audit_agreement"):
        part = open_page(client, name, paper.study.pk, **{"HX-Request": "true"}).content
        assert part.strip().startswith(b"<section")
        page = open_page(client, name, paper.study.pk).content
        assert page.strip().startswith(b"<!doctype html>")


@pytest.mark.parametrize("name", ["audit", "audit_pictures", "audit_agreement"])
def test_queries_do_not_grow_with_the_runs(name: str) -> None:
    client = client_of(audited.auditor())
    counted = []
    for number in (1, 12):
        world = audited.study(f"of {number}")
        people = [audited.person(f"{letter}{number}") for letter in "ab"]
        for _ in range(number):
            audited.judged(world, audited.evaluator("x"), ["tp", "fn", "tn", "fp", "?s", "-f"])
            world.add("success", [(user, "success") for user in people])
        with CaptureQueriesContext(connection) as queries:
            assert open_page(client, name, world.study.pk).status_code == 200
        counted.append(len(queries))
    assert counted[0] == counted[1] < 16


def test_cell_queries_do_not_grow_with_the_runs(paper: audited.Audited) -> None:
    client = client_of(audited.auditor())
    judge = audited.evaluator()
    counted = []
    for cell in ("tp", "fn"):
        with CaptureQueriesContext(connection) as queries:
            open_page(client, "audit_cells", paper.study.pk, judge.pk, cell)
        counted.append(len(queries))
    assert counted[0] == counted[1] < 16


def test_empty_study_says_why() -> None:
    world = audited.study()
    page = open_page(client_of(audited.auditor()), "audit", world.study.pk).content.decode()
    assert "No run has a reference verdict yet" in page
    world.add("success")
    page = open_page(client_of(audited.auditor("b")), "audit", world.study.pk).content.decode()
    assert "No evaluator has judged these runs yet" in page


def test_evaluator_without_any_verdict_is_a_line_not_a_matrix_of_zeros() -> None:
    world = audited.study()
    audited.judged(world, audited.evaluator("speaks"), ["tp", "fn"])
    audited.evaluation(
        world.items[0].run, audited.evaluator("mute"), "not_applicable", reason="no reward"
    )
    page = open_page(client_of(audited.auditor()), "audit", world.study.pk).content.decode()
    assert page.count('class="matrix-panel"') == 1
    assert "No verdict on any run (1)" in page
    assert ">mute</a>" in page
    assert "1 no reward" in " ".join(page.split())


def test_home_lists_studies(paper: audited.Audited) -> None:
    page = open_page(client_of(audited.auditor()), "audit_home").content.decode()
    assert reverse("judging:audit", args=[paper.study.pk]) in page
    assert "75" in page


def test_picture_stands_alone(paper: audited.Audited) -> None:
    client = client_of(audited.auditor())
    answer = open_page(client, "audit_picture", paper.study.pk, "fn_share")
    assert answer["Content-Type"] == "image/svg+xml"
    assert b"style=" not in answer.content
    assert open_page(client, "audit_picture", paper.study.pk, "no-such").status_code == 404
