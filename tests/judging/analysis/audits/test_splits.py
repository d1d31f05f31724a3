"""Splits of a benchmark, as its task file names them, in audits."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from judging.analysis.audits.comparison import compare
from judging.analysis.audits.verdict_sources import sources_of
from tests.judging.analysis import audited
from tests.judging.analysis.audits.pages import open_page, pk
from tests.runs.factories import client_of

pytestmark = pytest.mark.django_db


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
    groups = compare(parted.study, first, second).groups["split"]
    found = {each.name: (each.flips.runs, each.flips.fixed_fn, each.first.fn) for each in groups}
    assert found == {"dev": (2, 1, 1), "test": (3, 0, 1), "": (1, 0, 0), "2": (1, 0, 0)}
    page = open_page(client_of(audited.auditor()), "audit_compare", parted.study.pk)
    assert "By split" in page.content.decode()


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
