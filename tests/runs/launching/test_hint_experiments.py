"""Hints from runs, and the experiment that compares them, in a world without a browser."""

import uuid
from collections import Counter
from dataclasses import replace

import pytest
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from runs.launching.experiments.hint_plans import (
    HintPlan,
    HintPool,
    launch_hint_experiment,
    plan_hints,
)
from runs.launching.experiments.plans import Seeds
from runs.launching.experiments.selection import PlanError
from runs.models import (
    AgentConfiguration,
    Hint,
    HintChoice,
    HintLevel,
    HintRelatedness,
    HintSet,
    LearningJob,
    Run,
)
from tests.runs.knowledge.lever_world import (
    carried_out,
    hints_from,
    inhabited,
    plan,
    successes,
    tasks,
    written,
)
from tests.webagent import lever_suite
from webagent.agents.registry import make_agent
from webagent.knowledge.entries import Level, Relatedness

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.sqlite_only("plain queries, alike on both"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with inhabited(tmp_path_factory.mktemp("levers")) as stub:
        yield stub


@pytest.fixture
def runs(world) -> list[Run]:
    return successes()


def planned(
    job: LearningJob,
    *names: str,
    levels: tuple[Level, ...] = tuple(Level),
    relatednesses: tuple[Relatedness, ...] = tuple(Relatedness),
    **more: object,
) -> HintPlan:
    whole = plan("hints", trials=3, seeds=Seeds(first=0), tasks=tasks(*names), **more)
    return plan_hints(whole, HintPool(job, written(job), levels), relatednesses)


def test_hints_help_on_the_same_task_and_hurt_elsewhere(runs):
    job = hints_from(runs, Level.CONCRETE)
    far = (Relatedness.SAME_TASK, Relatedness.OTHER_SITE_LOWEST)
    hint_plan = planned(job, "rowan", "amber", levels=(Level.CONCRETE,), relatednesses=far)
    launched = launch_hint_experiment(plan=hint_plan, token=uuid.uuid4(), user=None)

    done = carried_out(launched.experiment.pk)

    won: Counter[str] = Counter()
    for run in done:
        won[str(run.agent.config.get("hints", "")).rpartition(".")[0]] += run.outcome == "success"
    assert len(done) == hint_plan.n_runs == 18
    assert won == {"": 2, "concrete.same_task": 6, "concrete.other_site_lowest": 0}
    told = [run for run in done if run.agent.config.get("hints")]
    assert {run.record["extra"]["hint"]["text"] for run in told} == {
        hint.text for hint in Hint.objects.filter(choices__isnull=False)
    }
    assert all(step.input_tokens for run in told for step in run.steps.all())


def test_every_level_has_the_same_sources_and_no_condition_twice(runs):
    job = hints_from(runs)
    assert job.report == {"hints": 18, "refused": 0}

    hint_plan = planned(job)
    launch_hint_experiment(plan=hint_plan, token=uuid.uuid4(), user=None)

    assert hint_plan.n_runs == 6 * 13 * 3
    assert HintSet.objects.count() == 12
    sources = {
        (hint_set.relatedness, hint_set.level): {
            choice.task.external_id: choice.hint.source.task.external_id
            for choice in hint_set.choices.select_related("task", "hint__source__task")
        }
        for hint_set in HintSet.objects.all()
    }
    for relatedness in Relatedness:
        concrete, abstract, insights = (sources[relatedness, level] for level in Level)
        assert concrete == abstract == insights
    assert sources["same_task", "concrete"] == {
        task.external_id: task.external_id for task in tasks()
    }
    assert sources["same_site_highest", "concrete"]["levers.rowan"] == "levers.birch"
    assert sources["same_site_lowest", "concrete"]["levers.rowan"] == "levers.geese"
    far = sources["other_site_lowest", "concrete"]
    assert all(_site(task) != _site(source) for task, source in far.items())


def test_the_same_launch_twice_is_one_experiment_and_sets_are_shared(runs):
    job = hints_from(runs)
    token = uuid.uuid4()
    first = launch_hint_experiment(plan=planned(job), token=token, user=None)
    again = launch_hint_experiment(plan=planned(job), token=token, user=None)
    renamed = replace(planned(job), plan=replace(planned(job).plan, name="once more"))
    other = launch_hint_experiment(plan=renamed, token=uuid.uuid4(), user=None)

    assert (first.experiment, again.is_new) == (again.experiment, False)
    assert HintSet.objects.count() == 12
    agents = AgentConfiguration.objects.filter(runs__experiment=other.experiment).distinct()
    assert agents.count() == 13
    assert Run.objects.filter(experiment=first.experiment).count() == 234


def test_tasks_without_a_source_are_left_out_and_told(runs):
    job = hints_from([run for run in runs if run.task.external_id != "levers.tide"])

    found = planned(job).found

    assert [task.external_id for task in found.left_out] == ["levers.tide"]
    assert found.missing[Relatedness.SAME_TASK] == found.left_out
    assert len(found.tasks) == 5


def test_a_run_gets_no_hint_from_a_run_that_it_repeats(runs):
    job = hints_from(runs, Level.CONCRETE)
    same = planned(job, "rowan", levels=(Level.CONCRETE,), relatednesses=(Relatedness.SAME_TASK,))
    launched = launch_hint_experiment(plan=same, token=uuid.uuid4(), user=None)
    source = Hint.objects.get(choices__task__external_id="levers.rowan").source
    hinted = Run.objects.filter(experiment=launched.experiment, agent__config__has_key="hints")
    repeat = hinted.order_by("trial")[0]
    Run.objects.filter(pk=repeat.pk).update(rerun_of=source, family=source.root)

    done = {run.pk: run for run in carried_out(launched.experiment.pk)}

    assert done[repeat.pk].outcome == "error"
    assert "this one repeats" in done[repeat.pk].error_message
    others = [run for run in done.values() if run.agent.config.get("hints") and run.pk != repeat.pk]
    assert {run.outcome for run in others} == {"success"}


def test_a_task_without_a_hint_ends_in_an_error_and_not_in_a_failure(runs):
    job = hints_from(runs, Level.CONCRETE)
    same = planned(job, "rowan", levels=(Level.CONCRETE,), relatednesses=(Relatedness.SAME_TASK,))
    launched = launch_hint_experiment(plan=same, token=uuid.uuid4(), user=None)
    stray = Run.objects.filter(experiment=launched.experiment, agent__config__has_key="hints")[0]
    Run.objects.filter(pk=stray.pk).update(task=tasks("birch")[0])

    carried_out(launched.experiment.pk)

    stray.refresh_from_db()
    assert (stray.outcome, stray.reward) == ("error", None)
    assert "have none for the task" in stray.error_message


@pytest.mark.parametrize("model", [Hint, HintSet, HintChoice])
def test_hints_never_change(runs, model):
    job = hints_from(runs[:3], Level.CONCRETE)
    near = (Relatedness.SAME_TASK,)
    hint_plan = planned(job, *names(runs[:3]), levels=(Level.CONCRETE,), relatednesses=near)
    launch_hint_experiment(plan=hint_plan, token=uuid.uuid4(), user=None)
    column, value = {Hint: ("text", "other"), HintSet: ("method", "x"), HintChoice: ("score", 9)}[
        model
    ]

    with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
        model.objects.update(**{column: value})
    if model is Hint:
        with pytest.raises(ProtectedError):
            Hint.objects.all().delete()


def test_an_agent_with_tips_of_its_own_is_refused(runs):
    job = hints_from(runs, Level.CONCRETE)
    tipped = make_agent("generic", {"model": "stub-judge", "tips": "Look."}).describe()

    with pytest.raises(PlanError, match="already has tips"):
        planned(job, agents=(tipped,), levels=(Level.CONCRETE,))


def test_levels_and_relatednesses_are_called_the_same_everywhere():
    assert HintLevel.values == list(Level)
    assert HintRelatedness.values == list(Relatedness)


def names(runs: list[Run]) -> list[str]:
    return [run.task.external_id.partition(".")[2] for run in runs]


def _site(name: str) -> str:
    return lever_suite.TASKS[name][0]
