"""Seeded databases: what they hold, and that the same seed makes the same."""

from random import Random

import pytest

from judging.models import Evaluation, Label, ReferenceVerdict, StudyItem
from runs.exports.services import bundles_of
from runs.models import AgentConfiguration, Experiment, Run, Step, Task, User
from tests.runs.factories import make_run
from tests.runs.operations.integrity import everything_holds
from tools.seed_scale import shares
from tools.seed_scale.__main__ import main
from tools.seed_scale.drawing import Drawn, draw_runs
from tools.seed_scale.plan import STEP_COLUMNS, Plan, Pool, TaskGroup

pytestmark = pytest.mark.slow

RUNS = 300
ROLES = ("annotator", "adjudicator", "engineer")


def draw(seed: int) -> list[Drawn]:
    step = dict.fromkeys(STEP_COLUMNS, "x") | {"seconds": 1.5, "screenshot": "ab"}
    step |= {"input_tokens": 1000, "output_tokens": 10}
    pool = Pool([tuple(step.values())], ["Look there."], ["Open it."])
    plan = Plan(
        people={role: [User(pk=1)] for role in ROLES},  # type: ignore[misc] # roles are words
        groups=[TaskGroup(shares.SETS[0], [Task(pk=n, goal=f"goal {n}") for n in range(5)])],
        agents=[AgentConfiguration(pk=n) for n in range(4)],
        evaluators={},
    )
    return list(
        draw_runs(
            2000, first=0, plan=plan, pool=pool, random=Random(seed), experiment=1, paused=True
        )
    )


def test_the_same_seed_draws_the_same_runs() -> None:
    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


def test_runs_have_fifteen_steps_on_average() -> None:
    ended = [run for run in draw(3) if run.steps]
    mean = sum(len(run.steps) for run in ended) / len(ended)
    assert 13.5 < mean < 16.5


@pytest.mark.django_db
def test_a_seeded_database_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--runs", str(RUNS)]) == 0
    ended = Run.objects.exclude(status="queued")
    counting = ended.filter(superseded=False).count()
    assert Run.objects.count() == RUNS
    assert Evaluation.objects.count() == 3 * counting
    assert Step.objects.count() == sum(Run.objects.values_list("n_steps", flat=True))
    assert Experiment.objects.count() == 1
    assert StudyItem.objects.count() > shares.LARGE_STUDY_SHARE * RUNS
    assert Label.objects.exists()
    assert ReferenceVerdict.objects.exists()
    everything_holds()
    given = [bundle.run.id for bundle in bundles_of(Run.objects.order_by("pk"))]
    assert given == [str(run.pk) for run in ended.order_by("pk")]
    assert main(["--runs", str(RUNS)]) == 1
    assert "filled with seed 1 already" in capsys.readouterr().err


@pytest.mark.django_db
def test_a_database_in_use_is_not_seeded(capsys: pytest.CaptureFixture[str]) -> None:
    make_run()
    assert main(["--runs", "1"]) == 1
    assert "runs that are not seeded" in capsys.readouterr().err
    assert Run.objects.count() == 1
