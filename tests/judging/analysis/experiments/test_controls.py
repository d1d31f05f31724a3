"""What evaluators let through for agents that solve nothing."""

import io
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from judging.analysis.experiments.controls import CONTROLS, controls_of
from judging.analysis.experiments.population import whole_scope
from runs.models import Experiment, Run, RunStatus, TaskSet
from tests.judging.analysis import audited
from tests.judging.analysis.experiments import made
from tests.runs.factories import make_agent, make_task
from webagent.agents.registry import make_agent as engine_agent

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def controls() -> Experiment:
    """Two tasks; a matcher lets one N/A pass and has nothing to say of one list."""
    of = made.experiment("Controls")
    matcher = audited.evaluator("matcher")
    for number, task in enumerate(made.tasks(2)):
        for name in CONTROLS:
            [run] = made.store([made.run_row(of, task, make_agent(name, ""), 0.0)])
            if name == "list_everything" and number:
                audited.evaluation(run, matcher, "error", reason="needs a judge")
            else:
                passed = name == "always_na" and not number
                audited.evaluation(run, matcher, "passed" if passed else "failed")
    return of


def test_every_control_is_an_agent_of_the_engine() -> None:
    for name in CONTROLS:
        assert engine_agent(name).describe().name == name


def test_pass_rates_by_evaluator_and_control() -> None:
    found = controls_of(whole_scope(controls()))
    assert [each.source.name for each in found] == ["imported reward", "evaluator matcher 1"]
    reward, matcher = found
    assert (reward.all.count, reward.all.total) == (0, 6)
    shares = {name: (share.count, share.total) for name, share in matcher.passed.items()}
    assert shares == {"do_nothing": (0, 2), "always_na": (1, 2), "list_everything": (0, 1)}
    assert matcher.undecided["list_everything"] == 1
    assert (matcher.all.count, matcher.all.total) == (1, 5)


def test_the_page_tells_it_and_opens_the_runs() -> None:
    of = controls()
    client = made.reader()
    part = client.get(made.address("experiment_part", of.pk, "controls")).content.decode()
    assert "50.0 %" in part
    matcher = audited.evaluator("matcher")
    listed = client.get(
        made.address(
            "experiment_runs",
            of.pk,
            verdict=f"evaluator:{matcher.pk}",
            control="always_na",
            standing="success",
        )
    ).content.decode()
    assert listed.count("data-run=") == 1


def test_one_click_launches_them_on_the_same_tasks_once() -> None:
    of = made.experiment("Tried")
    task_set = TaskSet.objects.create(name="miniwob", version="1")
    tasks = [
        make_task(name, site="miniwob", task_set=task_set)
        for name in ("miniwob.click-test", "miniwob.click-button")
    ]
    made.store(made.run_row(of, task, make_agent(), 1.0) for task in tasks)
    client, token = made.reader(), str(uuid4())
    assert (
        "Run controls"
        in client.get(made.address("experiment_part", of.pk, "controls")).content.decode()
    )
    for _ in range(2):
        answer = client.post(made.address("controls_launch", of.pk), {"token": token})
        launched = Experiment.objects.get(name="Tried, controls")
        assert answer["Location"] == made.address("experiment_detail", launched.pk)
    queued = launched.runs.values_list("agent__name", "task__external_id")
    assert sorted(queued) == sorted((name, task.external_id) for name in CONTROLS for task in tasks)
    assert set(launched.runs.values_list("status", flat=True)) == {RunStatus.QUEUED}
    part = client.get(made.address("experiment_part", of.pk, "controls")).content.decode()
    assert f'href="/experiments/{launched.pk}/"' in part
    assert "Run controls" not in part
    # The name is taken now: another click says so and queues nothing.
    client.post(made.address("controls_launch", of.pk), {"token": str(uuid4())})
    assert Run.objects.filter(experiment=launched).count() == 6
    assert client.post(made.address("controls_launch", of.pk), {}).status_code == 404


def test_command_takes_a_task_set() -> None:
    task_set = TaskSet.objects.create(name="miniwob", version="1")
    for name in ("miniwob.click-test", "miniwob.click-button"):
        make_task(name, site="miniwob", task_set=task_set)
    out = io.StringIO()
    call_command("run_controls", "--task-set", "miniwob", "--limit", "1", stdout=out)
    assert out.getvalue().strip() == "miniwob 1, controls: 3 runs queued"
    with pytest.raises(CommandError, match="no task set nothing"):
        call_command("run_controls", "--task-set", "nothing")
    with pytest.raises(CommandError, match="no experiment 'nothing'"):
        call_command("run_controls", "--experiment", "nothing")
