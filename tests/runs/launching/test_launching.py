"""Launching, cancelling and retrying runs."""

import uuid
from typing import Any

import pytest

from runs.launching.agents import agent_for
from runs.launching.reruns import services as reruns
from runs.launching.reruns.services import (
    MAX_NEW_RUNS,
    RerunError,
    RerunRequest,
    cancel_run,
    launch_reruns,
    queue_run,
    retry_run,
)
from runs.models import AgentConfiguration, Experiment, Run, RunStatus
from tests.runs.factories import make_agent, make_run, make_task, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("asks no database anything special; test_execution.py runs on both"),
]


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many runs were there each time that workers were told."""
    counts: list[int] = []
    monkeypatch.setattr(reruns, "wake_workers", lambda: counts.append(Run.objects.count()))
    return counts


def ours(agent: str = "oracle", config: dict[str, Any] | None = None, **fields: Any) -> Run:
    """A finished run of one of our agents on a task that is here, as its viewer gets it."""
    run = queue_run(task="miniwob.click-test", agent=agent, agent_config=config, seed=4)
    done = {"status": RunStatus.FINISHED, "outcome": "failure", "end_reason": "task_ended"}
    Run.objects.filter(pk=run.pk).update(**{**done, **fields})
    return shown(run)


def shown(run: Run, user: Any = None) -> Run:
    user = user or make_user()
    return Run.objects.visible_to(user).select_related("task__task_set", "agent").get(pk=run.pk)


def rerun_request(**asked: Any) -> RerunRequest:
    return RerunRequest(token=uuid.uuid4(), **asked)


def test_a_full_experiment_takes_no_more_and_what_it_has_is_asked_for_twice():
    Experiment.objects.create(name="small", max_runs=2)
    run, user = ours(), make_user()
    asked = rerun_request(experiment="small", trials=2)
    first = launch_reruns(runs=[run], rerun_request=asked, user=user).queued
    assert launch_reruns(runs=[run], rerun_request=asked, user=user).queued == first
    with pytest.raises(RerunError, match="holds 2 runs and may hold 2"):
        launch_reruns(runs=[run], rerun_request=rerun_request(experiment="small"), user=user)
    with pytest.raises(RerunError, match="may hold 2"):
        queue_run(task="miniwob.click-test", agent="oracle", experiment="small")
    assert Experiment.objects.get().runs.count() == 2


def test_the_same_again(told, django_capture_on_commit_callbacks):
    run, user = ours(), make_user()
    with django_capture_on_commit_callbacks(execute=True):
        (new,) = launch_reruns(runs=[run], rerun_request=rerun_request(), user=user).queued
    assert (new.status, new.rerun_of_id, new.created_by_id) == ("queued", run.pk, user.pk)
    assert (new.task_id, new.agent_id, new.seed, new.trial) == (run.task_id, run.agent_id, 4, 1)
    assert (new.attempt, new.retry_of_id, new.max_steps) == (1, None, run.max_steps)
    assert told == [2]
    run.refresh_from_db()
    assert not run.superseded


def test_the_same_wish_with_the_same_token_is_granted_once():
    run, user, asked = ours(), make_user(), rerun_request(trials=3)
    first = launch_reruns(runs=[run], rerun_request=asked, user=user)
    again = launch_reruns(runs=[run], rerun_request=asked, user=user)
    assert {new.pk for new in first.queued} == {new.pk for new in again.queued}
    assert Run.objects.filter(rerun_of=run).count() == 3


def test_another_token_or_another_wish_is_granted_too():
    run, user, asked = ours(), make_user(), rerun_request()
    launch_reruns(runs=[run], rerun_request=asked, user=user)
    launch_reruns(runs=[run], rerun_request=rerun_request(), user=user)
    launch_reruns(
        runs=[run], rerun_request=RerunRequest(token=asked.token, agent="looping"), user=user
    )
    assert Run.objects.filter(rerun_of=run).count() == 3


def test_another_agent_seeds_that_count_up_and_an_experiment():
    asked = rerun_request(agent="looping", seed=10, trials=3, max_steps=5, experiment=" Loops ")
    new = launch_reruns(runs=[ours()], rerun_request=asked, user=make_user()).queued
    by_trial = sorted(new, key=lambda run: run.trial)
    assert [(run.trial, run.seed) for run in by_trial] == [(1, 10), (2, 11), (3, 12)]
    assert {run.agent.name for run in new} == {"looping"}
    assert {run.max_steps for run in new} == {5}
    assert Experiment.objects.get().name == "Loops"
    assert {run.experiment for run in new} == {Experiment.objects.get()}


def test_new_seeds_differ_and_are_the_same_for_the_same_wish():
    run, user, asked = ours(), make_user(), rerun_request(new_seeds=True, trials=5)
    new = launch_reruns(runs=[run], rerun_request=asked, user=user).queued
    assert len({run.seed for run in new}) == 5
    launch_reruns(runs=[run], rerun_request=asked, user=user)
    assert Run.objects.filter(rerun_of=run).count() == 5


def test_the_replayer_repeats_the_actions_of_the_run():
    recorded = make_run(
        task=ours().task, steps=[{"action": "click('13')"}, {"action": ""}, {"action": "noop()"}]
    )
    agent = agent_for(shown(recorded), "replayer")
    assert agent.config == {"actions": ["click('13')", "noop()"]}


def test_an_imported_agent_cannot_run_and_others_are_named():
    run = make_run(task=ours().task, agent=make_agent("GenericAgent", "gpt-x"))
    with pytest.raises(RerunError, match="GenericAgent came with an import"):
        launch_reruns(runs=[shown(run)], rerun_request=rerun_request(), user=make_user())
    launched = launch_reruns(
        runs=[shown(run)], rerun_request=rerun_request(agent="oracle"), user=make_user()
    )
    assert [new.agent.name for new in launched.queued] == ["oracle"]


def test_a_configuration_that_does_not_fit_our_agent_of_that_name_cannot_run():
    agent = AgentConfiguration.objects.create(
        name="looping", config={"temperature": 1}, config_hash="x"
    )
    run = make_run(task=ours().task, agent=agent)
    with pytest.raises(RerunError, match="does not fit"):
        launch_reruns(runs=[shown(run)], rerun_request=rerun_request(), user=make_user())


def test_a_missing_environment_is_named():
    run = make_run(task=make_task("webarena.7"))
    with pytest.raises(RerunError, match="browsergym-webarena"):
        launch_reruns(
            runs=[shown(run)], rerun_request=rerun_request(agent="oracle"), user=make_user()
        )


def test_what_can_run_is_queued_and_the_rest_is_said():
    good, bad = ours(), shown(make_run(task=make_task("shopdemo.1")))
    launch = launch_reruns(runs=[good, bad], rerun_request=rerun_request(), user=make_user())
    assert [new.rerun_of_id for new in launch.queued] == [good.pk]
    ((refused, why),) = launch.refused
    assert refused == bad
    assert "shopdemo" in why


def test_nothing_selected_and_too_many():
    with pytest.raises(RerunError, match="Select"):
        launch_reruns(runs=[], rerun_request=rerun_request(), user=make_user())
    with pytest.raises(RerunError, match=str(MAX_NEW_RUNS)):
        launch_reruns(
            runs=[ours()], rerun_request=rerun_request(trials=MAX_NEW_RUNS + 1), user=make_user()
        )
    assert Run.objects.filter(rerun_of__isnull=False).count() == 0


def test_cancelling_a_waiting_run_ends_it_at_once():
    run = queue_run(task="miniwob.click-test", agent="oracle")
    assert cancel_run(run=run)
    run.refresh_from_db()
    assert run.status == RunStatus.CANCELLED
    assert not cancel_run(run=run)


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_retrying_twice_makes_one_attempt(status, told, django_capture_on_commit_callbacks):
    run, user = ours(status=status, outcome="error"), make_user()
    with django_capture_on_commit_callbacks(execute=True):
        first = retry_run(run=run, user=user)
    again = retry_run(run=shown(run), user=user)
    assert first == again
    assert (first.retry_of_id, first.attempt, first.created_by_id) == (run.pk, 2, user.pk)
    assert told == [2]
    run.refresh_from_db()
    assert run.superseded


def test_only_what_broke_or_was_cancelled_is_retried():
    with pytest.raises(RerunError):
        retry_run(run=ours(), user=make_user())
