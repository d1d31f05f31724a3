"""Evaluators beside people, against figures made by hand."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from judging.analysis.audits.people.against import ceiling_of
from judging.analysis.audits.people.agreement import agreement_of
from judging.analysis.audits.verdict_sources import sources_of
from judging.statistics.confusion import ConfusionMatrix
from judging.statistics.figures import Interval, Reason, Undefined
from tests.judging.analysis import audited
from tests.judging.analysis.audits.pages import open_page, pk
from tests.runs.factories import client_of

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only(
        "figures, alike on both; test_paper.py and test_what_if.py run on PostgreSQL"
    ),
    pytest.mark.slow,
]


def test_people_and_evaluators_by_hand(world: audited.Audited) -> None:
    found = ceiling_of(sources_of(world.study))
    [pair] = found.people
    # On run 5 the second person is unsure, so it does not count; on run 1 they differ.
    assert (pair.annotator.name, pair.source.name, pair.matrix.decided) == ("ann", "bob", 5)
    assert pair.matrix.accuracy.value == pytest.approx(4 / 5)
    # po = 4/5; ann says success 3 of 5, bob 2 of 5: pe = (6 + 6)/25
    assert pair.matrix.kappa == pytest.approx((4 / 5 - 12 / 25) / (1 - 12 / 25))
    assert isinstance(pair.kappa_interval, Interval)
    strict = found.evaluators[str(pk("strict"))]
    assert [each.annotator.name for each in strict] == ["ann", "bob"]
    assert strict[0].matrix == ConfusionMatrix(tp=1, fn=2, tn=2, fp=0, no_verdict_on_failure=1)
    assert strict[1].matrix.accuracy.value == pytest.approx(4 / 5)


def test_people_are_held_against_each_other_over_open_disputes_too() -> None:
    world = audited.study()
    a, b = audited.person("a"), audited.person("b")
    world.add("success", [(a, "success"), (b, "success")])
    world.add("success", [(a, "success"), (b, "failure")])
    world.add(None, [(a, "success"), (b, "failure")])
    secret = world.add(None, [(a, "failure")])
    audited.label(secret, b, "failure")  # the study wants more labels of it
    for item in world.items:
        audited.evaluation(item.run, audited.evaluator("yes"), "passed")
    found = ceiling_of(sources_of(world.study))
    [pair] = found.people
    assert (pair.matrix.accuracy.count, pair.matrix.decided, pair.unlisted) == (1, 3, 1)
    [(against_a, against_b)] = found.evaluators.values()
    assert [against_a.matrix.decided, against_b.matrix.decided] == [2, 2]
    [raw, *_] = agreement_of(world.study).success.figures
    assert raw.value == pytest.approx(1 / 3), "over the same runs"
    page = open_page(client_of(audited.auditor()), "audit_people", world.study.pk).content.decode()
    assert "1 of them without a reference verdict that counts" in page


def test_one_label_throughout_says_why_there_is_no_kappa() -> None:
    world = audited.study()
    a, b = audited.person("a"), audited.person("b")
    for _ in range(3):
        item = world.add("success", [(a, "success"), (b, "success")])
        audited.evaluation(item.run, audited.evaluator("yes"), "passed")
    found = ceiling_of(sources_of(world.study))
    [pair] = found.people
    assert pair.matrix.kappa == pair.kappa_interval == Undefined(Reason.ONE_CLASS)
    page = open_page(client_of(audited.auditor()), "audit_people", world.study.pk).content.decode()
    assert "only one label occurs" in page
    assert "nan" not in page.lower()


def test_page_opens_the_runs_on_which_they_differ(world: audited.Audited) -> None:
    client = client_of(audited.auditor())
    page = open_page(client, "audit_people", world.study.pk).content.decode()
    linked = re.findall(r'<a href="([^"]*differ=[^"]+)">(\d+)</a>', page)
    assert len(linked) == 5
    for address, n in linked:
        listed = client.get(address.replace("&amp;", "&")).content.decode()
        assert listed.count("<tr data-run=") == int(n), address
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)


def test_who_has_no_verdict_is_named_once_and_versions_only_where_names_are_shared() -> None:
    world = audited.study()
    a = audited.person("a")
    item = world.add("success", [(a, "success"), (audited.person("b"), "success")])
    for version in ("v1", "v2"):
        said = audited.evaluator("twice", version=version, config_hash=version)
        audited.evaluation(item.run, said, "passed")
    audited.evaluation(item.run, audited.evaluator("alone", version="v7"), "failed")
    audited.evaluation(item.run, audited.evaluator("silent", version="v9"), "error")
    sources = sources_of(world.study)
    assert [each.shown for each in sources.speaking] == ["alone", "twice v1", "twice v2"]
    assert sources.speaking[0].whole == "alone v7"
    client = client_of(audited.auditor())
    for page in ("audit_people", "audit_triangle"):
        text = open_page(client, page, world.study.pk).content.decode()
        [rest] = re.findall(r"No verdict on any run:\s*(?:<a[^>]*>)?[^<]*", text)
        assert rest.count("silent") == 1
    pairs = open_page(client, "audit_pairs", world.study.pk).content.decode()
    assert "alone" in pairs
    assert "silent" not in pairs


def test_annotators_who_share_no_run_are_no_pair() -> None:
    world = audited.study()
    people = [audited.person(name) for name in "abcd"]
    world.add("success", [(people[0], "success"), (people[1], "success")])
    world.add("success", [(people[2], "success"), (people[3], "success")])
    found = ceiling_of(sources_of(world.study))
    assert [(each.annotator.name, each.source.name) for each in found.people] == [
        ("a", "b"),
        ("c", "d"),
    ]


def test_nobody_labelled_says_so() -> None:
    world = audited.study()
    audited.judged(world, audited.evaluator(), ["tp", "fn"])
    page = open_page(client_of(audited.auditor()), "audit_people", world.study.pk).content.decode()
    assert "Nobody has labelled these runs" in page


def test_queries_do_not_grow_with_the_runs(world: audited.Audited) -> None:
    client = client_of(audited.auditor())
    counted = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            open_page(client, "audit_people", world.study.pk)
        counted.append(len(queries))
        audited.judged(world, audited.evaluator("strict"), ["tp", "fn", "fp"] * 4)
    assert counted[0] == counted[1] < 16


def test_intervals_are_drawn_by_the_seed_that_a_copy_of_the_study_keeps() -> None:
    a, b = audited.person("a"), audited.person("b")
    drawn = []
    for name, seed in (("here", 7), ("there", 7), ("other", 8)):
        world = audited.study(name, sample_seed=seed)
        for pair in ("ss", "sf", "ff", "fs", "ss", "ff", "sf", "ss"):
            first, second = ("success" if each == "s" else "failure" for each in pair)
            world.add("success", [(a, first), (b, second)])
        [people] = ceiling_of(sources_of(world.study)).people
        drawn.append(people.kappa_interval)
    assert drawn[0] == drawn[1] != drawn[2]
