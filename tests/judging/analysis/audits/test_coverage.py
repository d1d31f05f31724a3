"""Runs without a verdict: they set an evaluator apart, or count against it."""

import csv
import io
import json
from typing import Any

import pytest
from django.urls import reverse

from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.matrices import Audit
from judging.analysis.audits.query import AuditQuery, NoVerdict
from judging.statistics.confusion import ConfusionMatrix
from judging.statistics.figures import Interval
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
WRONG = AuditQuery(no_verdict=NoVerdict.WRONG)


@pytest.fixture
def shy() -> audited.Audited:
    """Ten runs. `busy` says something of eight, two of them wrongly; `shy` of three, all right.

    busy: 4 TP, 1 FN, 2 TN, 1 FP, no verdict on a success and a failure.
    shy: 2 TP, 1 TN, no verdict on 4 successes and 3 failures.
    """
    world = audited.study("Shy")
    by_shy = audited.evaluator("a-shy")
    audited.judged(
        world,
        audited.evaluator("busy"),
        ["tp", "tp", "tn", "tp", "tp", "fn", "tn", "fp", "?s", "-f"],
    )
    for item, verdict in zip(world.items[:3], ("passed", "passed", "failed"), strict=True):
        audited.evaluation(item.run, by_shy, verdict)
    return world


def rows_of(world: audited.Audited, name: str, query: str = "") -> list[dict[str, Any]]:
    client = client_of(audited.auditor(f"reader{query}{name}"))
    address = reverse("judging:audit_table", args=[world.study.pk, name, "json"])
    found: list[dict[str, Any]] = json.loads(client.get(f"{address}?{query}").content)["rows"]
    return found


def test_an_evaluator_with_little_coverage_comes_after_the_others(shy: audited.Audited) -> None:
    """By its figures it is the best: it is never wrong, on three of ten runs."""
    audit = Audit(shy.study)
    assert [each.evaluator.name for each in audit.speaking] == ["busy", "a-shy"]
    assert [each.evaluator.name for each in audit.set_apart] == ["a-shy"]
    for name in ("matrices", "figures"):
        rows = rows_of(shy, name)
        marks = dict.fromkeys((row["evaluator"], row["little_coverage"]) for row in rows)
        assert list(marks) == [("busy", None), ("a-shy", "yes")]


def test_whoever_is_wrong_less_often_but_silent_is_not_ranked_before(shy: audited.Audited) -> None:
    third = audited.evaluator("zealous")
    for item in shy.items:
        audited.evaluation(item.run, third, "passed")
    for item in shy.items[3:5]:
        audited.evaluation(item.run, audited.evaluator("a-shy"), "failed")
    errors = [
        (each.evaluator.name, each.matrix.fn + each.matrix.fp)
        for each in Audit(shy.study).by_errors
    ]
    assert errors == [("zealous", 4), ("busy", 2), ("a-shy", 2)]


def test_exactly_the_threshold_is_enough() -> None:
    world = audited.study()
    audited.judged(world, audited.evaluator("four of five"), ["tp"] * 4 + ["?s"])
    assert not Audit(world.study).set_apart
    audited.judged(world, audited.evaluator("four of five"), ["?s"])
    assert Audit(world.study).set_apart


def test_the_page_marks_it_and_says_why(shy: audited.Audited) -> None:
    client = client_of(audited.auditor())
    first = open_page(client, "audit", shy.study.pk).content.decode()
    assert "<strong>busy</strong>" in first
    assert "<strong>a-shy</strong>" not in first
    page = open_page(client, "audit_figures", shy.study.pk).content.decode()
    assert "with a verdict on fewer than 80.0 % of the runs: a-shy (coverage 30.0 %)" in page
    heads = page[page.index('class="table figures"') :]
    assert heads.index("busy") < heads.index("a-shy") < heads.index("coverage 30.0 %")
    assert page.count('<td class="num apart">') == heads.count('<details class="definition">')
    drawn = open_page(client_of(audited.auditor("b")), "audit_pictures", shy.study.pk)
    assert "a-shy (coverage 30.0 %)" in drawn.content.decode()


def test_no_verdict_counts_as_wrong_by_hand(shy: audited.Audited) -> None:
    """busy: FN 2, FP 2; shy: FN 4, FP 3, so it is no longer the best."""
    left_out = {(r["evaluator"], r["figure"]): r for r in rows_of(shy, "figures")}
    wrong = {(r["evaluator"], r["figure"]): r for r in rows_of(shy, "figures", "no_verdict=wrong")}
    value = {key: row["value"] for key, row in wrong.items()}
    assert left_out["a-shy", "accuracy"]["value"] == 1.0
    assert value["a-shy", "accuracy"] == pytest.approx(3 / 10)
    assert value["busy", "accuracy"] == pytest.approx(6 / 10)
    assert (wrong["a-shy", "fn_share"]["count"], wrong["a-shy", "fn_share"]["total"]) == (4, 10)
    assert value["a-shy", "fnr"] == pytest.approx(4 / 6)
    assert value["a-shy", "fpr"] == pytest.approx(3 / 4)
    assert value["a-shy", "precision"] == pytest.approx(2 / 5)
    assert value["a-shy", "f1"] == pytest.approx(2 * 2 / (2 * 2 + 3 + 4))
    # po = 3/10; 6 of 10 succeed, 2 TP and 3 FP are passes: pe = (6·5 + 4·5)/100
    assert value["a-shy", "kappa"] == pytest.approx((0.3 - 0.5) / 0.5)
    assert value["a-shy", "coverage"] == left_out["a-shy", "coverage"]["value"] == 3 / 10
    assert {row["no_verdict"] for row in wrong.values()} == {"wrong"}
    assert {row["no_verdict"] for row in left_out.values()} == {"left-out"}


def test_intervals_are_of_the_same_counts(shy: audited.Audited) -> None:
    """Each run is a task of its own; then two share one."""
    facts = AuditFacts(shy.study, WRONG)
    [busy, silent] = facts.evaluators
    kappa = facts.intervals[silent.evaluator.pk]["kappa"]
    assert silent.scored == ConfusionMatrix(tp=2, fn=4, tn=1, fp=3)
    assert isinstance(kappa, Interval)
    assert kappa.low < (0.3 - 0.5) / 0.5 < kappa.high
    assert busy.scored == ConfusionMatrix(tp=4, fn=2, tn=2, fp=2)
    again = shy.add("success", of=audited.run(shy.items[0].run.task))
    audited.evaluation(again.run, silent.evaluator, "passed")
    facts = AuditFacts(shy.study, WRONG)
    accuracy = facts.intervals[silent.evaluator.pk]["accuracy"]
    assert facts.shares_tasks
    assert isinstance(accuracy, Interval)
    # Over the runs with a verdict alone it would be 1 to 1.
    assert accuracy.low < 4 / 11 < accuracy.high < 1


def test_the_agents_success_rate_and_the_cells_stay_as_they_are(shy: audited.Audited) -> None:
    """An error of an evaluator is no failure of the agent, nor a verdict."""
    usual, wrong = AuditFacts(shy.study), AuditFacts(shy.study, WRONG)
    assert vars(wrong.population) == vars(usual.population)
    assert [each.matrix for each in wrong.evaluators] == [each.matrix for each in usual.evaluators]
    assert rows_of(shy, "matrices", "no_verdict=wrong") == rows_of(shy, "matrices")


def test_the_choice_is_said_and_goes_with_every_link(shy: audited.Audited) -> None:
    client = client_of(audited.auditor())
    address = reverse("judging:audit", args=[shy.study.pk])
    page = client.get(f"{address}?no_verdict=wrong").content.decode()
    page += client.get(f"{address}figures/?no_verdict=wrong").content.decode()
    assert "No verdict counts as wrong: FN on a success, FP on a failure." in page
    for part in ("figures", "pictures", "tables/figures.csv", "report.md"):
        assert f"{address}{part}{'' if '.' in part else '/'}?no_verdict=wrong" in page, part
    usual = client.get(f"{address}figures/").content.decode()
    assert "No verdict counts as wrong" not in usual
    listed = reverse("judging:audit_cells", args=[shy.study.pk, pk("a-shy"), "fn-none"])
    assert listed in page
    assert client.get(listed).status_code == 200
    assert client.get(f"{address}?no_verdict=right").status_code == 404
    document = client.get(f"{address}report.md?no_verdict=wrong").content.decode()
    assert "No verdict counts as wrong" in document
    table = client.get(f"{address}tables/figures.csv?no_verdict=wrong").content.decode()
    assert {row["no_verdict"] for row in csv.DictReader(io.StringIO(table))} == {"wrong"}
    drawn = client.get(f"{address}pictures/?no_verdict=wrong").content.decode()
    assert "no verdict counts as wrong" in drawn
