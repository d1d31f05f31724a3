"""Splits of a benchmark, as its task file names them, in audits."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from judging.analysis.audits.comparing.evaluators import Comparison
from judging.analysis.audits.matrices import Audit
from judging.analysis.audits.query import AuditQuery
from judging.analysis.audits.verdict_sources import sources_of
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


@pytest.fixture
def parted() -> audited.Audited:
    """dev: a FN of `a` that `b` repairs, a TP. test: TP, TN, FN by both. And none, and a number."""
    world = audited.study()
    by_a, by_b = audited.evaluator("a"), audited.evaluator("b")
    rows: list[tuple[str | int, str, str, str]] = [
        ("dev", "success", "failed", "passed"),
        ("dev", "success", "passed", "passed"),
        ("test", "success", "passed", "passed"),
        ("test", "failure", "failed", "failed"),
        ("test", "success", "failed", "failed"),
        ("", "failure", "failed", "failed"),
        (2, "failure", "failed", "failed"),
    ]
    for number, (split, truth, first, second) in enumerate(rows):
        record = {"extra": {"split": split}} if split else {}
        task = audited.task(f"t{number}", record=record)
        item = world.add(truth, of=audited.run(task))
        audited.evaluation(item.run, by_a, first)
        audited.evaluation(item.run, by_b, second)
    return world


def test_compare_keeps_splits_apart(parted: audited.Audited) -> None:
    sources = sources_of(parted.study)
    first, second = (sources.named(str(pk(name))) for name in "ab")
    groups = Comparison(parted.study, first, second).groups["split"]
    found = {each.name: (each.flips.runs, each.flips.fixed_fn, each.first.fn) for each in groups}
    assert found == {"dev": (2, 1, 1), "test": (3, 0, 1), "": (1, 0, 0), "2": (1, 0, 0)}
    page = open_page(client_of(audited.auditor()), "audit_compare", parted.study.pk)
    assert "Split" in page.content.decode()


def test_matrices_and_figures_are_of_one_split(parted: audited.Audited) -> None:
    """test: 3 runs, of which `a` has a TP, a TN and a FN."""
    client = client_of(audited.auditor())
    address = reverse("judging:audit", args=[parted.study.pk])
    rows = json.loads(client.get(f"{address}tables/matrices.json?split=test").content)["rows"]
    assert [rows[0][key] for key in ("runs", "tp", "fn", "tn", "fp")] == [3, 1, 1, 1, 0]
    found = json.loads(client.get(f"{address}tables/figures.json?split=test").content)
    figures = {(row["evaluator"], row["figure"]): row["value"] for row in found["rows"]}
    assert figures["a", "fnr"] == pytest.approx(1 / 2)
    assert figures["a", "fn_share"] == pytest.approx(1 / 3)
    assert found["title"].startswith("Garden study (test): ")
    assert Audit(parted.study, AuditQuery(split="dev")).evaluators[0].matrix.runs == 2
    assert Audit(parted.study).evaluators[0].matrix.runs == 7


def test_intervals_are_of_the_split(parted: audited.Audited) -> None:
    """Where tasks have several runs, they are resampled from those of the split."""
    again = parted.add("success", of=audited.run(audited.task("t2")))
    audited.evaluation(again.run, audited.evaluator("a"), "passed")
    of_dev = Audit(parted.study, AuditQuery(split="dev"))
    of_test = Audit(parted.study, AuditQuery(split="test"))
    assert (of_dev.shares_tasks, of_test.shares_tasks) == (False, True)
    accuracy = of_test.intervals[pk("a")]["accuracy"]
    assert isinstance(accuracy, Interval)
    assert accuracy.low < 3 / 4 < accuracy.high


def test_numbers_of_a_split_open_its_runs(parted: audited.Audited) -> None:
    client = client_of(audited.auditor())
    address = reverse("judging:audit", args=[parted.study.pk])
    page = client.get(f"{address}?split=test").content.decode()
    assert "3 runs with a reference verdict" in page
    listed = reverse("judging:audit_cells", args=[parted.study.pk, pk("a"), "fn"]) + "?split=test"
    assert listed in page
    runs = client.get(listed, follow=True).content.decode()
    assert runs.count("<tr data-run=") == 1
    assert ">all splits</a>" in page
    drawn = client.get(f"{address}pictures/?split=test").content.decode()
    assert listed in drawn


def test_reports_of_all_tasks_refuse_a_split(parted: audited.Audited) -> None:
    client = client_of(audited.auditor())
    address = reverse("judging:audit", args=[parted.study.pk])
    for part in ("tables/agreement.json", "agreement/", "people/", "causes/"):
        assert client.get(f"{address}{part}").status_code == 200
        assert client.get(f"{address}{part}?split=test").status_code == 404
    page = client.get(f"{address}?split=test").content.decode()
    assert "tables/figures.csv" in page
    assert "tables/agreement.csv" not in page
    document = json.loads(client.get(f"{address}report.json?split=test").content)
    assert set(document["tables"]) == {"protocol", "matrices", "figures", "corrected"}
    with pytest.raises(CommandError, match="of one split there are"):
        call_command("report", str(parted.study.pk), "--table", "people", "--split", "test")


@pytest.mark.parametrize("split", ["nowhere", "%00", "<script>"])
def test_a_split_that_no_task_has_is_empty(parted: audited.Audited, split: str) -> None:
    client = client_of(audited.auditor())
    address = reverse("judging:audit", args=[parted.study.pk])
    answer = client.get(f"{address}?split={split}")
    assert answer.status_code == 200
    assert "0 runs with a reference verdict" in answer.content.decode()
    assert "No run has a reference verdict yet" not in answer.content.decode()
    assert "No task of this study has the split" in answer.content.decode()
    assert "<script>" not in answer.content.decode().split("<main")[-1]


def test_files_and_all_verdicts_say_that_no_task_has_the_split(parted: audited.Audited) -> None:
    client = client_of(audited.auditor())
    address = reverse("judging:audit", args=[parted.study.pk])
    files = ("tables/figures.json", "report.json", "pictures/fn_share.svg", "triangle.json")
    for file in files:
        assert client.get(f"{address}{file}?split=dev").status_code == 200, file
        answer = client.get(f"{address}{file}?split=nowhere")
        assert answer.status_code == 404, file
        assert "No task of this study has the split “nowhere”." in answer.content.decode()
    page = client.get(f"{address}triangle/?split=nowhere").content.decode()
    assert "No task of this study has the split “nowhere”." in page
    assert "No task of" not in client.get(f"{address}triangle/?split=dev").content.decode()


def test_all_verdicts_and_their_files_are_of_one_split(parted: audited.Audited) -> None:
    client = client_of(audited.auditor())
    address = reverse("judging:audit_triangle", args=[parted.study.pk])
    page = client.get(f"{address}?split=test").content.decode()
    assert page.count("<tr data-run=") == 3
    assert "split: test" in page
    misses = client.get(f"{address}?split=test&cell={pk('a')}_fn").content.decode()
    assert misses.count("<tr data-run=") == 1
    file = reverse("judging:audit_triangle_file", args=[parted.study.pk, "json"])
    assert len(json.loads(client.get(f"{file}?split=dev").content)["rows"]) == 2


def test_where_no_task_has_a_split_none_is_offered() -> None:
    world = audited.study()
    audited.judged(world, audited.evaluator("a"), ["tp", "fn"])
    client = client_of(audited.auditor())
    page = open_page(client, "audit_triangle", world.study.pk).content.decode()
    assert 'name="split"' not in page
