"""Progress of experiments: every figure of the page again by hand, from the exported rows."""

import csv
import io
import json
import math
import re
from collections import defaultdict
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from judging.analysis.progress.sources import Missing
from judging.models import Unblinding
from runs.catalogue.milestones.definitions import definitions_of
from runs.catalogue.milestones.services import set_milestones
from runs.models import Experiment, Run, Task, TaskSet
from tests.judging.analysis.experiments import made
from tests.judging.analysis.progress import world

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql_only("slow, and alike on both")]

Row = dict[str, str]


@pytest.fixture(scope="module")
def far(kept_rows: None) -> Experiment:
    """One for all tests here."""
    return world.measured()


def table(client: Client, of: Experiment, name: str, **query: Any) -> list[Row]:
    address = made.address("experiment_progress_table", of.pk, name, "csv", **query)
    answer = client.get(address)
    assert answer.status_code == 200, answer
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


def page(client: Client, of: Experiment, **query: Any) -> str:
    answer = client.get(made.address("experiment_progress_rates", of.pk, **query))
    assert answer.status_code == 200, answer
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())))


def known(rows: list[Row], **chosen: str) -> list[Row]:
    return [
        row
        for row in rows
        if row["success"] and row["progress"] and all(row[k] == v for k, v in chosen.items())
    ]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def clustered_error(values: list[float], tasks: list[str]) -> float:
    """√(G/(G − 1) · Σ (sum of the task's deviations)²) / n."""
    sums: defaultdict[str, float] = defaultdict(float)
    for value, task in zip(values, tasks, strict=True):
        sums[task] += value - mean(values)
    groups = len(sums)
    return math.sqrt(groups / (groups - 1) * sum(s * s for s in sums.values())) / len(values)


def test_progress_beside_success_equals_the_exported_rows(far: Experiment) -> None:
    from scipy.stats import t

    client = made.reader()
    rows = table(client, far, "runs")
    text = page(client, far)
    told = table(client, far, "configurations")
    assert len(told) == 2
    for each in told:
        mine = known(rows, configuration=each["configuration"])
        of_all = [row for row in rows if row["configuration"] == each["configuration"]]
        progress = [float(row["progress"]) for row in mine]
        won = [float(row["success"]) for row in mine]
        failed = [float(row["progress"]) for row in mine if row["success"] == "0"]
        hidden = [a - b for a, b in zip(progress, won, strict=True)]
        tasks = [row["task"] for row in mine]
        half = t.ppf(0.975, len(set(tasks)) - 1) * clustered_error(hidden, tasks)
        assert (int(each["runs"]), int(each["n"])) == (len(of_all), len(mine))
        assert float(each["progress"]) == pytest.approx(mean(progress))
        assert float(each["success"]) == pytest.approx(mean(won))
        assert float(each["hidden"]) == pytest.approx(mean(progress) - mean(won))
        assert float(each["hidden_low"]) == pytest.approx(mean(hidden) - half, rel=1e-5)
        assert float(each["of_failures"]) == pytest.approx(mean(failed))
        ends = [float(row["progress_at_end"]) for row in mine]
        assert float(each["progress_at_end"]) == pytest.approx(mean(ends))
        assert all(row["progress"] == str(max(json.loads(row["by_step"]))) for row in mine)
        assert f"{100 * mean(won):.1f} %" in text
        assert f"{100 * mean(progress):.1f} %" in text


def test_what_is_missing_is_counted_and_opens_its_runs(far: Experiment) -> None:
    client = made.reader()
    rows = table(client, far, "runs")
    whys = [row["no_progress_because"] for row in rows if row["no_progress_because"]]
    assert sorted(whys) == ["no-milestones", "no-verdict", "not-asked", "not-asked"]
    n = len(known(rows))
    assert f"{n} of {len(rows)} runs that count have both" in page(client, far)
    part = client.get(reverse("judging:experiment_part", args=[far.pk, "progress"]))
    assert (
        f"Runs with both a verdict and progress: {n} of {len(rows)}. "
        "Left out: 1, the task has no milestones. Left out: 2, the source was not asked. "
        "Left out: 1, the source came to no verdict."
    ) in " ".join(unescape(part.content.decode()).split())
    source = f"evaluator-{world.judge().pk}"
    for why in Missing:
        address = made.address(
            "experiment_runs", far.pk, verdict="reward", progress=f"{source}:{why}"
        )
        listed = client.get(address).content.decode()
        assert listed.count("data-run=") == whys.count(why.value), why
    address = made.address("experiment_runs", far.pk, verdict="reward", progress=f"{source}:told")
    assert client.get(address).content.decode().count("data-run=") == len(rows) - len(whys)


def test_both_success_rates_stand_beside_each_other_with_their_n(far: Experiment) -> None:
    part = made.reader().get(
        reverse("judging:experiment_part", args=[far.pk, "progress"]), headers={"HX-Request": "1"}
    )
    text = " ".join(re.sub(r"<[^>]+>", " ", part.content.decode()).split())
    assert "Success, all runs Runs with progress Success, these runs" in text
    assert re.search(r"\d+/\d+ · [\d.–]+ \d+ of \d+ ", text), "with the n of each"


def test_a_run_that_ended_in_an_error_is_no_progress_of_0_and_is_told(far: Experiment) -> None:
    client = made.reader()
    before = table(client, far, "configurations")
    one = Run.objects.filter(experiment=far, task__external_id="far-1")[0]
    ended = {"outcome": "error", "status": "failed", "trial": 7}
    (broken,) = made.store([made.run_row(far, one.task, one.agent, 0.0, **ended)])
    world.evaluated(broken, [])
    assert table(client, far, "configurations") == before
    assert "left out: 1 ended in an error" in page(client, far)


def test_changed_milestones_make_what_was_found_stale(far: Experiment) -> None:
    client = made.reader()
    before = len(known(table(client, far, "runs")))
    task = Task.objects.get(external_id="far-2")
    set_milestones(task=task, milestones=world.milestones(4))
    rows = table(client, far, "runs")
    stale = [row for row in rows if row["no_progress_because"] == "stale"]
    assert {row["task"] for row in stale} == {"far-2"}
    assert len(known(rows)) == before - sum(row["success"] != "" for row in stale)


def test_task_sets_stand_apart_and_open_their_runs(far: Experiment) -> None:
    client = made.reader()
    rows = known(table(client, far, "runs"))
    sets = table(client, far, "task-sets")
    assert {row["task_set"] for row in sets} == {"webarena raw", "other raw"}
    for each in sets:
        mine = [
            float(row["progress"])
            for row in rows
            if (row["configuration"], row["task_set"]) == (each["configuration"], each["task_set"])
        ]
        assert int(each["n"]) == len(mine)
        assert float(each["progress"]) == pytest.approx(mean(mine))
    other = TaskSet.objects.get(name="other").pk
    value = f"evaluator-{world.judge().pk}:told"
    address = made.address("experiment_runs", far.pk, progress=value, task_set=other)
    n = sum(row["task_set"] == "other raw" for row in rows)
    assert client.get(address).content.decode().count("data-run=") == n


def test_curve_and_step_limits_equal_the_exported_rows(far: Experiment) -> None:
    client = made.reader()
    rows = table(client, far, "runs")
    drawn = re.findall(r" n = (\d+) ", page(client, far))
    configurations = dict.fromkeys(point["configuration"] for point in table(client, far, "curve"))
    assert drawn == [str(len(known(rows, configuration=each))) for each in configurations]
    for point in table(client, far, "curve"):
        mine = known(rows, configuration=point["configuration"])
        step = int(point["step"])
        curves = [json.loads(row["by_step"]) for row in mine]
        assert float(point["progress"]) == pytest.approx(
            mean([max(curve[:step], default=0.0) for curve in curves])
        )
        held = [curve[min(step, len(curve)) - 1] if step else 0.0 for curve in curves]
        assert float(point["progress_held"]) == pytest.approx(mean(held))
        assert int(point["going"]) == sum(len(curve) >= step for curve in curves)
    limits = table(client, far, "limits")
    assert {row["limit"] for row in limits} == {"10", "20", "30", "50"}
    for at in limits:
        mine = known(rows, configuration=at["configuration"])
        limit = int(at["limit"])
        cut = [max(json.loads(row["by_step"])[:limit]) for row in mine]
        won = [row["success"] == "1" and int(row["steps"]) <= limit for row in mine]
        assert float(at["progress"]) == pytest.approx(mean(cut))
        assert float(at["success"]) == pytest.approx(sum(won) / len(mine))
        assert int(at["cut"]) == sum(int(row["steps"]) > limit for row in mine)
        assert int(at["unknown"]) == sum(
            bool(row["ended_by_limit"]) and int(row["ended_by_limit"]) < limit for row in mine
        )
    assert any(int(at["unknown"]) for at in limits)


def test_milestones_that_runs_do_not_get_past_open_their_runs(far: Experiment) -> None:
    client = made.reader()
    rows = known(table(client, far, "runs"))
    stops = table(client, far, "stops")
    assert sum(int(stop["stopped"]) for stop in stops) == sum(bool(r["first_missed"]) for r in rows)
    for stop in stops:
        of_task = [row for row in rows if row["task"] == stop["task"]]
        stopped = [
            row
            for row in of_task
            if (row["first_missed"], row["configuration"])
            == (stop["milestone"], stop["configuration"])
        ]
        assert (int(stop["stopped"]), int(stop["of_task"])) == (len(stopped), len(of_task))
        assert all(float(row["progress_at_end"]) < 1 for row in stopped)
    task = Task.objects.get(external_id=stops[0]["task"])
    place = [one.name for one in definitions_of(task)].index(stops[0]["milestone"])
    value = f"evaluator-{world.judge().pk}:stopped-{task.pk}-{place}"
    address = made.address("experiment_runs", far.pk, standing="success-failure", progress=value)
    listed = client.get(address).content.decode()
    n = sum(int(s["stopped"]) for s in stops if (s["task"], s["milestone"]) == first_two(stops[0]))
    assert listed.count("data-run=") == n
    assert f"not past milestone {place + 1}" in listed


def first_two(stop: Row) -> tuple[str, str]:
    return stop["task"], stop["milestone"]


def test_easy_and_hard_tasks_and_the_score_equal_the_exported_rows(far: Experiment) -> None:
    client = made.reader()
    rows = table(client, far, "runs", above=2)
    for part in table(client, far, "difficulty", above=2):
        mine = [
            row
            for row in known(rows, configuration=part["configuration"])
            if (int(row["milestones"]) > 2) == (part["part"] == "hard")
        ]
        assert int(part["n"]) == len(mine)
        assert float(part["progress"]) == pytest.approx(
            mean([float(row["progress"]) for row in mine])
        )
    for score in table(client, far, "scores", alpha=0.4):
        mine = [row for row in rows if row["configuration"] == score["configuration"]]
        trials: defaultdict[str, list[int]] = defaultdict(list)
        for row in mine:
            if row["success"]:
                trials[row["task"]].append(int(row["success"]))
        k = int(score["k"])
        chances = [
            1 - math.comb(len(won) - sum(won), k) / math.comb(len(won), k)
            for won in trials.values()
            if len(won) >= k
        ]
        failed = [float(row["progress"]) for row in known(mine) if row["success"] == "0"]
        expected = 0.4 * mean(chances) + 0.6 * mean(failed)
        assert float(score["score"]) == pytest.approx(expected)
        assert float(score["low"]) <= expected <= float(score["high"])
    text = page(client, far, alpha=0.4, above=2)
    assert "α = 0.4" in text
    assert "Hard: tasks with more than 2 milestones." in text


def test_page_asks_for_a_fixed_number_of_queries(
    far: Experiment, django_assert_max_num_queries: Any
) -> None:
    client = made.reader()
    page(client, far)
    with django_assert_max_num_queries(40):
        page(client, far)


def test_experiment_without_milestones_says_what_to_do() -> None:
    of = made.two_models({"both": 1, "neither": 1})
    assert "Give the tasks milestones" in page(made.reader(), of)


def test_whoever_lists_runs_by_progress_is_noted(far: Experiment) -> None:
    run = Run.objects.filter(experiment=far, evaluations__verdict="passed").first()
    assert run is not None
    made.settle(run, "success")
    client = made.reader()
    value = f"evaluator-{world.judge().pk}:told"
    client.get(made.address("experiment_runs", far.pk, verdict="reward", progress=value))
    assert Unblinding.objects.filter(item__run=run).exists()


def test_the_menu_has_short_names_and_the_version_stands_below(far: Experiment) -> None:
    judge = world.judge()
    text = page(made.reader(), far)
    assert f"{judge.title} (" in text
    assert f"{judge.shown} (" not in text
    assert f"{judge.title} version {judge.full_version}" in text


def test_nonsense_is_not_found() -> None:
    of = made.experiment()
    client = made.reader()
    for query in ("alpha=2", "alpha=x", "k=0", "progress=evaluator-99", "split=size", "above=-1"):
        address = f"{made.address('experiment_progress_rates', of.pk)}?{query}"
        assert client.get(address).status_code == 404, query
    address = made.address("experiment_progress_rates", of.pk)
    told = client.get(f"{address}?alpha=7&k=1").content.decode()
    assert "alpha" in told
    assert "Enter a number from 0 to 1." in told
    assert f'href="{address}?k=1"' in told
