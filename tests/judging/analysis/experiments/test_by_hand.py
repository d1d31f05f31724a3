"""An experiment of 10 tasks × 2 configurations × 3 trials: its page against its exported file."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

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
    by_hand.check(made.reader(), uneven.pk, exported)
