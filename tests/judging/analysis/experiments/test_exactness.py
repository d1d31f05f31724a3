"""The page's figures are those that anybody computes from the exported runs."""

from __future__ import annotations

import json
import random
import zipfile
from collections import Counter, defaultdict
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from judging.analysis.experiments.reports import EXPERIMENT, OF_SUITE
from runs.exports.services import export_runs
from runs.models import Event, Experiment, Run
from tests.judging.analysis.experiments import made
from tests.runs.factories import make_agent
from webagent.trajectory.records import (
    AgentRecord,
    EventRecord,
    Outcome,
    RunRecord,
    SourceRecord,
    Totals,
)

pytestmark = pytest.mark.django_db

AGENTS = {"a": 0.7, "b": 0.45}
TRIALS = 4


@pytest.fixture
def messy() -> Experiment:
    """Two agents, twelve tasks, four trials: with errors, missing rewards and recoveries."""
    of, draw = made.experiment("Messy"), random.Random(5)
    runs, marks = [], []
    for name, chance in AGENTS.items():
        for number, task in enumerate(made.tasks(12)):
            for trial in range(1, TRIALS + 1):
                kind = draw.random()
                reward = None if kind < 0.06 else float(draw.random() < chance)
                times = draw.choice([0, 0, 0, 1, 2])
                run = made.run_row(
                    of,
                    task,
                    make_agent(name),
                    reward,
                    seed=100 + trial,
                    trial=trial,
                    n_steps=draw.randint(1, 30),
                    seconds=draw.uniform(1, 60),
                    superseded=kind > 0.97,
                    **({"outcome": Run.Outcome.ERROR} if 0.1 < kind < 0.16 else {}),
                )
                run.record = _record(run, number, times)
                runs.append(run)
                marks.append((run, times))
    made.store(runs)
    for run, times in marks:
        if times:
            made.mark(run, *[Event.Kind.LOOP] * times)
    return of


def _record(run: Run, task: int, times: int) -> dict[str, Any]:
    """The run as it came in, which is what goes out again."""
    mark = EventRecord(kind="loop", first_step=0, last_step=1)
    record = RunRecord(
        id=str(run.pk),
        task_id=f"task {task}",
        source=SourceRecord(format="native"),
        agent=AgentRecord(name=run.agent.name),
        seed=run.seed,
        trial=run.trial,
        outcome=Outcome(run.outcome),
        reward=run.reward,
        totals=Totals(seconds=run.seconds),
        events=(mark,) * times,
        extra={"recovery": {"recoveries": times}},
    )
    return record.model_dump(mode="json", exclude_unset=True)


def exported(of: Experiment, folder: Path) -> list[dict[str, Any]]:
    """The runs as the export gives them to anybody, line by line."""
    export_runs(folder / "runs.zip", Run.objects.filter(experiment=of))
    with zipfile.ZipFile(folder / "runs.zip") as archive:
        return [json.loads(line) for line in archive.read("runs.jsonl").splitlines()]


@pytest.mark.slow
def test_figures_equal_those_computed_from_the_export(messy: Experiment, tmp_path: Path) -> None:
    client = made.reader()
    address = made.address("experiment_report", messy.pk, "json", verdict="reward")
    tables = {name: each["rows"] for name, each in client.get(address).json()["tables"].items()}
    rows = [run for run in exported(messy, tmp_path) if not run.get("superseded_by")]
    # The export names an attempt's successor, and these have none: the column tells.
    kept = set(map(str, Run.objects.filter(superseded=False).values_list("pk", flat=True)))
    rows = [run for run in rows if run["id"] in kept]
    of_suites = {name for name in EXPERIMENT.entries if name.startswith(OF_SUITE)}
    assert set(tables) == {*EXPERIMENT.entries} - {"runs", "controls", "infrastructure"} - of_suites
    for name in AGENTS:
        _check_agent(name, [run for run in rows if run["agent"]["name"] == name], tables)
    _check_pairs(rows, tables["pairs"])


def _check_agent(
    name: str, rows: list[dict[str, Any]], tables: dict[str, list[dict[str, Any]]]
) -> None:
    whole = [run for run in rows if run["outcome"] != "error"]
    decided = [run for run in whole if run.get("reward") is not None]
    won = [run for run in decided if run["reward"] > 0.5]
    [row] = [each for each in tables["configurations"] if each["agent"] == name]
    n, p = len(decided), len(won) / len(decided)
    assert (row["n"], row["successes"]) == (n, len(won))
    assert row["no_verdict"] == len(whole) - n
    assert row["left_out_error"] == len(rows) - len(whole)
    assert row["value"] == pytest.approx(p)
    assert row["se_naive"] == pytest.approx(sqrt(p * (1 - p) / n))
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for run in decided:
        by_task[run["task_id"]].append(run["reward"])
    groups = len(by_task)
    spread = sum(sum(reward - p for reward in rewards) ** 2 for rewards in by_task.values())
    assert row["se_by_task"] == pytest.approx(sqrt(groups / (groups - 1) * spread) / n)
    z = 1.959963984540054
    middle, half = p + z * z / (2 * n), z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert row["low"] == pytest.approx((middle - half) / (1 + z * z / n))
    assert row["high"] == pytest.approx((middle + half) / (1 + z * z / n))
    _check_trials(name, by_task, tables["trials"])
    rescued = sum(run["extra"]["recovery"]["recoveries"] > 0 for run in won)
    [recovery] = [each for each in tables["recovery"] if each["configuration"] == name + LABEL]
    assert (recovery["rescued"], recovery["without_recovery"]) == (rescued, len(won) - rescued)
    histogram = {
        each["detections"]: (each["successes"], each["failures"])
        for each in tables["detections"]
        if each["configuration"] == name + LABEL
    }
    times = Counter((len(run.get("events", [])), run["reward"] > 0.5) for run in decided)
    for detections, counts in histogram.items():
        assert counts == (times[detections, True], times[detections, False])
    assert sum(map(sum, histogram.values())) == n


LABEL = " · model-a"


def _check_trials(name: str, by_task: dict[str, list[float]], rows: list[dict[str, Any]]) -> None:
    """By trying every draw of k trials."""
    for row in (each for each in rows if each["configuration"] == name + LABEL):
        k = row["k"]
        drawn = [list(combinations(each, k)) for each in by_task.values() if len(each) >= k]
        some = [sum(max(draw) for draw in draws) / len(draws) for draws in drawn]
        every = [sum(min(draw) for draw in draws) / len(draws) for draws in drawn]
        assert row["pass_at_k"] == pytest.approx(sum(some) / len(some))
        assert row["pass_hat_k"] == pytest.approx(sum(every) / len(every))
        assert (row["tasks"], row["left_out"]) == (len(drawn), len(by_task) - len(drawn))


def _check_pairs(rows: list[dict[str, Any]], pairs: list[dict[str, Any]]) -> None:
    sides: defaultdict[str, dict[tuple[str, int], float | None]] = defaultdict(dict)
    for run in rows:
        if run["outcome"] != "error":
            sides[run["agent"]["name"]][run["task_id"], run["seed"]] = run.get("reward")
    [row] = pairs
    shared = sides["a"].keys() & sides["b"].keys()
    counts = Counter((sides["a"][key], sides["b"][key]) for key in shared)
    assert row["paired_by"] == "seed"
    assert row["both"] == counts[1.0, 1.0]
    assert row["only_first"] == counts[1.0, 0.0]
    assert row["only_second"] == counts[0.0, 1.0]
    assert row["neither"] == counts[0.0, 0.0]
    assert row["no_verdict"] == sum(n for pair, n in counts.items() if None in pair)
    assert row["unpaired_first"] == len(sides["a"]) - len(shared)
    assert row["unpaired_second"] == len(sides["b"]) - len(shared)
