"""A judge's progress beside people's: the page's figures again by hand, from the exported rows."""

import csv
import io
import json
import re
from decimal import Decimal
from html import unescape
from random import Random
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from judging.models import Label, MilestoneTick, Study, Unblinding
from judging.studies.labels.ticks import Tick
from runs.catalogue.milestones.definitions import definitions_of
from runs.catalogue.milestones.services import set_milestones
from runs.models import Run
from tests.judging.analysis.experiments.made import reader
from tests.judging.analysis.progress import world
from tests.judging.factories import annotators_of, make_label, make_study
from tests.runs.factories import make_run, make_task

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql_only("slow, and alike on both")]


@pytest.fixture(scope="module")
def judged(kept_rows: None) -> Study:
    """One for all tests here."""
    return judged_study()


def judged_study() -> Study:
    """Eight settled runs of four tasks, ticked by two people each, all but one judged."""
    random = Random(3)
    runs = []
    for number in range(4):
        task = make_task(f"ticked-{number}", site="shop" if number % 2 else "forum")
        set_milestones(task=task, milestones=world.milestones(2 + number % 3))
        runs += [make_run(task=task, steps=6, pictures=False) for _ in range(2)]
    study = make_study(runs=runs)
    judge = world.judge("milestones-judge", model="judge-model")
    for number, item in enumerate(study.items.order_by("position")):
        findings = world.found(random, item.run.task, 6)
        for user in annotators_of(study):
            make_label(item, user, ticks=ticks(random, item.run, findings))
        if number:
            evaluation = world.evaluated(item.run, findings, judge)
            type(evaluation).objects.filter(pk=evaluation.pk).update(cost=Decimal("0.02"))
    # The clock bounds the time that a form may report.
    Label.objects.update(seconds=90.0)
    return study


def ticks(random: Random, run: Run, findings: list[Any]) -> tuple[Tick, ...]:
    """What the judge found, one time in four the opposite."""
    found = {one.name: bool(one.spans) for one in findings}
    return tuple(
        Tick(milestone=row.pk, achieved=found[row.name] != (random.random() < 0.25), step=None)
        for row in run.task.milestones.in_force()
    )


def table(client: Client, study: Study, name: str, **query: Any) -> list[dict[str, str]]:
    args = [study.pk, name, "csv"]
    answer = client.get(reverse("judging:audit_progress_table", args=args, query=query))
    assert answer.status_code == 200, answer
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def page(client: Client, study: Study, **query: Any) -> str:
    answer = client.get(reverse("judging:audit_progress", args=[study.pk], query=query))
    assert answer.status_code == 200, answer
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())))


def plain(value: str) -> float:
    """A number of a file: text that a spreadsheet would run is quoted there, numbers are not."""
    return float(value)


def test_figures_equal_the_exported_rows(judged: Study) -> None:
    from scipy.stats import pearsonr

    client = reader()
    rows = table(client, judged, "runs")
    assert len(rows) == 7
    people = [plain(row["people"]) for row in rows]
    judge = [plain(row["judge"]) for row in rows]
    gaps = [b - a for a, b in zip(people, judge, strict=True)]
    for row in rows:
        by_each = json.loads(row["each_person"])
        assert plain(row["people"]) == pytest.approx(sum(by_each) / len(by_each))
        assert len(by_each) == 2
    whole, *others = table(client, judged, "figures", tolerance=20)
    expected = pearsonr(people, judge)
    ci = expected.confidence_interval(0.95)
    assert plain(whole["r"]) == pytest.approx(expected.statistic)
    assert (plain(whole["r_low"]), plain(whole["r_high"])) == pytest.approx((ci.low, ci.high))
    bias = sum(gaps) / 7
    spread = (sum((gap - bias) ** 2 for gap in gaps) / 6) ** 0.5
    assert plain(whole["bias"]) == pytest.approx(bias)
    assert plain(whole["bias_high"]) == pytest.approx(bias + 2.446912 * spread / 7**0.5)
    assert plain(whole["upper_limit"]) == pytest.approx(bias + 1.959964 * spread, rel=1e-6)
    assert plain(whole["mae"]) == pytest.approx(sum(map(abs, gaps)) / 7)
    near = sum(abs(gap) <= 0.2 + 1e-9 for gap in gaps)
    assert plain(whole["agreement"]) == pytest.approx(near / 7)
    assert [row["runs"] for row in others] == ["forum", "shop", "people with each other"]
    assert [int(row["n"]) for row in others] == [3, 4, 8]
    text = page(client, judged, tolerance=20)
    assert f"{100 * near / 7:.1f} %" in text
    assert "1 ticked run without the judge: the source was not asked." in text
    assert "reported of AgentBoard, overall 0.88 87.0 % +0.9" in text


def test_milestones_equal_what_was_ticked_and_open_their_runs(judged: Study) -> None:
    client = reader()
    counted: dict[tuple[str, str], dict[str, int]] = {}
    for item in judged.items.select_related("run__task").order_by("position")[1:]:
        findings = item.run.evaluations.get().details["milestones"]
        found = {one["name"]: one["achieved_at"] is not None for one in findings}
        for one in definitions_of(item.run.task):
            votes = [
                tick.achieved
                for label in item.labels.all()
                for tick in label.ticks.filter(milestone__name=one.name)
            ]
            cell = {
                (True, 2): "both",
                (True, 0): "judge",
                (False, 2): "people",
                (False, 0): "neither",
            }.get((found[one.name], sum(votes)), "divided")
            cells = counted.setdefault((item.run.task.external_id, one.name), {})
            cells[cell] = cells.get(cell, 0) + 1
    rows = table(client, judged, "milestones")
    assert len(rows) == len(counted)
    for row in rows:
        cells = counted[row["task"], row["milestone"]]
        for cell in ("both", "judge", "people", "neither", "divided"):
            assert int(row[cell]) == cells.get(cell, 0)
        credited = cells.get("both", 0) + cells.get("judge", 0)
        precision = cells.get("both", 0) / credited if credited else None
        assert (plain(row["precision"]) if row["precision"] else None) == precision
    answer = client.get(reverse("judging:audit_progress", args=[judged.pk])).content.decode()
    (task, name), cells = next(each for each in counted.items() if each[1].get("both"))
    links = [unescape(found) for found in re.findall(r'href="(\?[^"]+cell=both[^"]*)"', answer)]
    named = name.replace(" ", "+")
    [link] = [
        each
        for each in links
        if f"milestone={named}&" in each and f"task={task_pk(judged, task)}&" in each
    ]
    listed = client.get(reverse("judging:audit_progress", args=[judged.pk]) + link)
    section = listed.content.decode().split('id="runs"')[1]
    assert section.count("data-run") == cells["both"]
    assert Unblinding.objects.filter(item__study=judged).exists()


def task_pk(study: Study, name: str) -> int:
    item = study.items.filter(run__task__external_id=name).first()
    assert item is not None
    return item.run.task_id


def test_cost_of_judging_stands_beside_people_s_time(judged: Study) -> None:
    text = page(reader(), judged, wage=40)
    assert "known of 7 of 7" in text
    assert "labels per run: 2.0; 100 times the cost of the judge" in text  # 2 × 90 s × $40 / $0.02
    assert "an assumption" in text


def test_study_without_ticks_or_without_a_judge_says_what_to_do(judged: Study) -> None:
    client = reader()
    assert "No progress known yet" in page(client, make_study(runs=1))
    item = judged.items.order_by("position").first()
    assert item is not None
    for run in Run.objects.exclude(pk=item.run_id):
        run.evaluations.all().delete()
    assert "No evaluator has judged these runs" in page(client, judged)


def test_progress_that_evaluators_alone_know_misses_peoples_ticks(judged: Study) -> None:
    MilestoneTick.objects.all().delete()
    text = page(reader(), judged)
    assert "People have ticked no milestones yet" in text
    assert "Give the tasks milestones" not in text


def test_labels_count_once_a_run_is_settled(judged: Study) -> None:
    client = reader()
    before = len(table(client, judged, "runs"))
    judged.items.filter(position=3).update(status="disputed")
    assert len(table(client, judged, "runs")) == before - 1


def test_nonsense_is_not_found() -> None:
    study = make_study(runs=1)
    client = reader()
    address = reverse("judging:audit_progress", args=[study.pk])
    for query in ("tolerance=7", "wage=-1", "cell=all", "task=x"):
        assert client.get(f"{address}?{query}").status_code == 404, query
