"""Step limits as arms: what was reached under each, counted by hand and from the exported rows."""

import csv
import io

import pytest

from runs.catalogue.milestones.services import set_milestones
from runs.models import Experiment, Run
from tests.judging.analysis.experiments import made
from tests.judging.analysis.progress import world
from tests.runs.factories import make_agent, make_task
from webagent.milestones.findings import Definition, Finding

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("figures, alike on both; test_experiment.py runs on PostgreSQL"),
]

HALVES = [Definition(name="first", weight=1.0), Definition(name="second", weight=1.0)]
FIRST = Finding(name="first", achieved_at=1)
SECOND = Finding(name="second", achieved_at=2)
RUNS = {
    # Limit: steps, reward, milestones of each task. By hand: progress 1/2, 1/2, 0 = 1/3; steps 10.
    10: [(10, 0.0, [FIRST]), (10, 0.0, [FIRST]), (10, 0.0, [])],
    # Progress 1, 1/2, 1/2 = 2/3; steps (12 + 20 + 16) / 3 = 16; one of three succeeds.
    20: [(12, 1.0, [FIRST, SECOND]), (20, 0.0, [FIRST]), (16, 0.0, [FIRST])],
}


@pytest.fixture
def arms() -> Experiment:
    of = made.experiment("Arms")
    Experiment.objects.filter(pk=of.pk).update(plan={"has_limits": True, "trials": 1})
    for number in range(3):
        task = make_task(f"arm-{number}")
        set_milestones(task=task, milestones=HALVES)
        for limit, planned in RUNS.items():
            steps, reward, found = planned[number]
            agent = make_agent("generic", config={"model": "m", "max_steps": limit})
            is_cut = steps == limit
            end = Run.EndReason.MAX_STEPS if is_cut else Run.EndReason.TASK_ENDED
            row = made.run_row(
                of, task, agent, reward, n_steps=steps, max_steps=limit, end_reason=end
            )
            [run] = made.store([row])
            world.evaluated(run, found)
    return Experiment.objects.get(pk=of.pk)


def rows(of: Experiment, name: str) -> list[dict[str, str]]:
    address = made.address("experiment_progress_table", of.pk, name, "csv")
    answer = made.reader(name).get(address)
    return list(csv.DictReader(io.StringIO(answer.content.decode())))


@pytest.mark.slow
def test_each_arm_is_what_its_runs_did(arms: Experiment) -> None:
    low, high = sorted(rows(arms, "arms"), key=lambda row: int(row["limit"]))
    assert (low["limit"], high["limit"]) == ("10", "20")
    assert [float(each["progress"]) for each in (low, high)] == pytest.approx([1 / 3, 2 / 3])
    assert [float(each["success"]) for each in (low, high)] == pytest.approx([0, 1 / 3])
    assert [float(each["steps"]) for each in (low, high)] == [10, 16]
    assert [int(each["n"]) for each in (low, high)] == [3, 3]
    assert [int(each["ended"]) for each in (low, high)] == [3, 1]
    exported = rows(arms, "runs")
    for each in (low, high):
        mine = [row for row in exported if row["max_steps"] == each["limit"]]
        mean = sum(float(row["progress"]) for row in mine) / len(mine)
        assert float(each["progress"]) == pytest.approx(mean)


@pytest.mark.slow
def test_the_page_shows_arms_where_the_plan_has_them(arms: Experiment) -> None:
    client, address = made.reader(), made.address("experiment_progress_rates", arms.pk)
    assert "What does a step limit change?</h2>" in client.get(address).content.decode()
    Experiment.objects.filter(pk=arms.pk).update(plan={"trials": 1})
    assert "What does a step limit change?</h2>" not in client.get(address).content.decode()
