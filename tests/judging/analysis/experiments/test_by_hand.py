"""An experiment of 10 tasks × 2 configurations × 3 trials: its page and its reports against its
exported file.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from judging.analysis.experiments.reports import EXPERIMENT, OF_SUITE
from runs.exports.services import export_runs
from runs.models import Event, Experiment, Run
from tests.judging.analysis.experiments import by_hand, made
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

AGENTS = {"careful": 0.7, "hasty": 0.4}
START = datetime(2026, 5, 4, 9, tzinfo=UTC)


@pytest.fixture
def uneven() -> Experiment:
    """Ends of every kind: attempts that broke, trials without a reward, recoveries, costs."""
    of, draw = made.experiment("Uneven"), random.Random(11)
    runs: list[Run] = []
    for name, chance in AGENTS.items():
        for task in made.tasks(10):
            for trial in (1, 2, 3):
                reward = None if draw.random() < 0.05 else float(draw.random() < chance)
                run = _run(of, task, name, trial, reward, draw)
                if draw.random() < 0.1:
                    broken = _run(of, task, name, trial, None, draw, outcome="error")
                    broken.superseded, run.retry_of, run.family, run.attempt = (
                        True,
                        broken,
                        broken.pk,
                        2,
                    )
                    runs.append(broken)
                elif draw.random() < 0.12:
                    run.outcome, run.reward = Run.Outcome.ERROR, None
                runs.append(run)
    for run in runs:
        run.record = _record(run)
    made.store(runs)
    for run in runs:
        if times := run.record["extra"]["recovery"]["recoveries"]:
            made.mark(run, *[Event.Kind.LOOP] * times)
        if run.reward is not None and draw.random() < 0.8:
            right = "success" if run.reward else "failure"
            wrong = "failure" if run.reward else "success"
            made.settle(run, right if draw.random() < 0.85 else wrong)
    return of


def _run(
    of: Experiment,
    task: Any,
    name: str,
    trial: int,
    reward: float | None,
    draw: random.Random,
    **fields: Any,
) -> Run:
    seconds, times = draw.uniform(3, 300), draw.choice([0, 0, 0, 1, 2])
    started_at = START + timedelta(seconds=draw.uniform(0, 3000))
    cost = None if draw.random() < 0.2 else Decimal(draw.randint(1, 900_000)) / 1_000_000
    run = made.run_row(
        of,
        task,
        make_agent(name),
        reward,
        seed=trial,
        trial=trial,
        n_steps=draw.randint(1, 30),
        seconds=seconds,
        cost=cost,
        started_at=started_at,
        ended_at=started_at + timedelta(seconds=seconds),
        **fields,
    )
    run.record = {"extra": {"recovery": {"recoveries": times}}}
    return run


def _record(run: Run) -> dict[str, Any]:
    """The run as it came in, which is what goes out again."""
    extra = run.record["extra"]
    mark = EventRecord(kind="loop", first_step=0, last_step=1)
    record = RunRecord(
        id=str(run.pk),
        task_id=run.task.external_id,
        source=SourceRecord(format="native"),
        agent=AgentRecord(name=run.agent.name),
        seed=run.seed,
        trial=run.trial,
        attempt=run.attempt,
        retry_of=str(run.retry_of_id) if run.retry_of_id else None,
        outcome=Outcome(run.outcome),
        reward=run.reward,
        started_at=run.started_at,
        ended_at=run.ended_at,
        totals=Totals(seconds=run.seconds, cost=run.cost),
        events=(mark,) * extra["recovery"]["recoveries"],
        extra=extra,
    )
    return record.model_dump(mode="json", exclude_unset=True)


@pytest.mark.slow
def test_every_number_of_the_page_follows_from_the_exported_file(
    uneven: Experiment, tmp_path: Path
) -> None:
    export_runs(tmp_path / "runs.zip", Run.objects.filter(experiment=uneven))
    exported = by_hand.Exported(tmp_path / "runs.zip")
    assert len(exported.kept) == 60 < len(exported.runs)
    assert {run["outcome"] for run in exported.kept} >= {"success", "failure", "error"}
    client = made.reader()
    by_hand.check(client, uneven.pk, exported)
    address = made.address("experiment_report", uneven.pk, "json", verdict="reward")
    tables = {name: each["rows"] for name, each in client.get(address).json()["tables"].items()}
    of_suites = {name for name in EXPERIMENT.entries if name.startswith(OF_SUITE)}
    assert set(tables) == {*EXPERIMENT.entries} - {"runs", "controls", "infrastructure"} - of_suites
    for name in AGENTS:
        _check_agent(name, exported.of(name, exported.kept), tables)
    _check_pairs(exported.kept, tables["pairs"])


Rows = Sequence[dict[str, Any]]


def _check_agent(name: str, rows: Rows, tables: dict[str, Rows]) -> None:
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


def _check_trials(name: str, by_task: dict[str, list[float]], rows: Rows) -> None:
    """By trying every draw of k trials."""
    for row in (each for each in rows if each["configuration"] == name + LABEL):
        k = row["k"]
        drawn = [list(combinations(each, k)) for each in by_task.values() if len(each) >= k]
        some = [sum(max(draw) for draw in draws) / len(draws) for draws in drawn]
        every = [sum(min(draw) for draw in draws) / len(draws) for draws in drawn]
        assert row["pass_at_k"] == pytest.approx(sum(some) / len(some))
        assert row["pass_hat_k"] == pytest.approx(sum(every) / len(every))
        assert (row["tasks"], row["left_out"]) == (len(drawn), len(by_task) - len(drawn))


def _check_pairs(rows: Rows, pairs: Rows) -> None:
    sides: defaultdict[str, dict[tuple[str, int], float | None]] = defaultdict(dict)
    for run in rows:
        if run["outcome"] != "error":
            sides[run["agent"]["name"]][run["task_id"], run["seed"]] = run.get("reward")
    [row] = pairs
    shared = sides["careful"].keys() & sides["hasty"].keys()
    counts = Counter((sides["careful"][key], sides["hasty"][key]) for key in shared)
    assert row["paired_by"] == "seed"
    assert row["both"] == counts[1.0, 1.0]
    assert row["only_first"] == counts[1.0, 0.0]
    assert row["only_second"] == counts[0.0, 1.0]
    assert row["neither"] == counts[0.0, 0.0]
    assert row["no_verdict"] == sum(n for pair, n in counts.items() if None in pair)
    assert row["unpaired_first"] == len(sides["careful"]) - len(shared)
    assert row["unpaired_second"] == len(sides["hasty"]) - len(shared)
