"""Pages of experiments: who may, what they show, when they stop asking."""

import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.launching.experiments import services as experiments
from runs.launching.policies.services import save_policy
from runs.models import Experiment, RetryPolicy, Run
from tests.judging.factories import make_study
from tests.runs.factories import (
    client_of,
    make_agent,
    make_experiment,
    make_run,
    make_task,
    make_user,
)
from webagent.recovery.retry_policy import PolicyBody

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]
HTMX = {"HX-Request": "true"}
NEW = "/experiments/new/"


@pytest.fixture(autouse=True)
def nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "wake_workers", lambda: None)
    monkeypatch.setattr(experiments, "ask_for_sweep", lambda: None)


def browser_of(role: str) -> Client:
    return client_of(make_user(role))


@pytest.fixture
def engineer() -> Client:
    return browser_of("engineer")


def make_policy(**body: Any) -> RetryPolicy:
    return save_policy(name="Mine", body=PolicyBody.model_validate(body), is_new=False)


def sent(**fields: Any) -> dict[str, Any]:
    return {
        "name": "Tried",
        "task_set": "miniwob",
        "tasks": "click-test click-button",
        "agents": ["oracle"],
        "trials": 3,
        "seeds": "0-2",
        "token": uuid.uuid4(),
        **fields,
    }


def launched(engineer: Client, **fields: Any) -> Experiment:
    engineer.post(NEW, sent(launch="1", **fields))
    return Experiment.objects.get(name=fields.get("name", "Tried"))


def address(experiment: Experiment, verb: str) -> str:
    return reverse(f"runs:experiment_{verb}", args=[experiment.pk])


@pytest.mark.slow
def test_a_form_launches_once_however_often_it_is_sent(engineer: Client):
    form = sent(launch="1")
    first, again = engineer.post(NEW, form), engineer.post(NEW, form)
    experiment = Experiment.objects.get()
    for response in (first, again):
        assert response.status_code == 302
        assert response["Location"] == f"/experiments/{experiment.pk}/"
    assert experiment.runs.count() == 6
    by_htmx = engineer.post(NEW, form, headers=HTMX)
    assert by_htmx["HX-Redirect"] == f"/experiments/{experiment.pk}/"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": ""}, "Required."),
        ({"tasks": "clicktest"}, "not among the selected"),
        ({"agents": []}, "Choose an agent."),
        ({"agents": ["no such"]}, "not one of the available choices"),
        ({"more_agents": "looping:{"}, "Invalid JSON"),
        ({"seeds": "0-9"}, "10 seeds for 3 trials"),
        ({"trials": 0}, "Enter a whole number from 1 to 100."),
        ({"tasks": "", "trials": 100, "seeds": ""}, "At most 10000"),
    ],
)
@pytest.mark.slow
def test_what_cannot_be_is_said_in_the_form(engineer: Client, wrong: dict[str, Any], said: str):
    response = engineer.post(NEW, sent(launch="1", **wrong), headers=HTMX)
    assert response.status_code == 422
    assert said in response.content.decode()
    assert not Experiment.objects.exists()


@pytest.mark.slow
def test_the_estimate_follows_the_form_and_makes_nothing(engineer: Client):
    agent, task = make_agent(), make_task()
    make_run(agent=agent, task=task)
    response = engineer.post(NEW, sent(estimate="1", name=""), headers=HTMX)
    words = response.content.decode()
    assert "6 runs" in words
    assert "tasks × agents × trials: 2 × 1 × 3" in words
    assert "unknown: no such run yet" in words
    assert "asks no model" in words
    wrong = sent(estimate="1", seeds="x", trials=0)
    all_told = engineer.post(NEW, wrong, headers=HTMX).content.decode()
    assert "Invalid seeds" in all_told
    assert "Trials: Enter a whole number" in all_told
    nobody = engineer.post(NEW, sent(estimate="1", agents=[]), headers=HTMX).content.decode()
    assert "<p>Choose an agent.</p>" in nobody.partition('id="launch-problem"')[2]
    assert 'disabled aria-describedby="launch-problem">Launch' in nobody
    assert "disabled aria" not in words
    assert not Experiment.objects.exists()


def test_another_task_set_brings_its_own_filters_and_no_reproach(engineer: Client):
    for site, kind in (("shopping", "url_match"), ("reddit", "string_match")):
        make_task(site=site, evaluation_kind=kind)
    other = sent(refresh="1", task_set="webarena raw", name="")
    words = engineer.post(NEW, other, headers=HTMX).content.decode()
    assert 'value="reddit"' in words
    assert 'value="url_match"' in words
    assert "required" not in words.replace("required id", "").replace(" required", "")
    before = engineer.get(NEW).content.decode()
    assert 'value="reddit"' not in before
    # Nothing else is replaced: a slow answer would undo what is typed meanwhile.
    chooser = before.partition('name="task_set"')[0].rpartition("<div hx-post")[2]
    assert 'hx-target="#task-filters" hx-select="#task-filters > *"' in chooser
    filters = words.partition('id="task-filters"')[2].partition('name="tasks"')[0]
    assert 'value="reddit"' in filters
    assert 'value="url_match"' in filters


def test_another_task_set_never_launches(engineer: Client):
    """The form's own button may come along with what the field sends."""
    engineer.post(NEW, sent(refresh="1", launch="1"), headers=HTMX)
    assert not Experiment.objects.exists()


@pytest.mark.slow
def test_progress_asks_again_only_while_something_moves(engineer: Client):
    experiment = launched(engineer)
    words = engineer.get(address(experiment, "progress")).content.decode()
    assert 'hx-trigger="every 2s"' in words
    assert "0 of 6 runs" in words
    paused = engineer.post(address(experiment, "pause"), headers=HTMX).content.decode()
    assert "every 2s" not in paused
    assert "paused" in paused
    assert "Resume" in paused
    resumed = engineer.post(address(experiment, "resume"), headers=HTMX).content.decode()
    assert "every 2s" in resumed
    cancelled = engineer.post(address(experiment, "cancel"), headers=HTMX).content.decode()
    assert "being cancelled" in cancelled
    Run.objects.end_cancelled()
    ended = engineer.get(address(experiment, "progress")).content.decode()
    assert "every 2s" not in ended
    assert "6 cancelled" in ended


def test_what_runs_shows_its_last_picture(engineer: Client):
    run = make_run(status="running", experiment=make_experiment())
    assert run.experiment is not None
    words = engineer.get(address(run.experiment, "progress")).content.decode()
    assert "1 running" in words
    assert f"/runs/{run.pk}/blobs/" in words


def test_an_experiment_that_hides_its_agent_is_not_there(engineer: Client):
    user = make_user("engineer")
    run = make_run(experiment=make_experiment("Secret"))
    make_study(runs=[run], annotators=[user], hides_identity=True)
    client = client_of(user)
    assert run.experiment is not None
    assert client.get(address(run.experiment, "progress")).status_code == 404
    assert client.post(address(run.experiment, "cancel")).status_code == 404
    assert "Secret" not in client.get("/experiments/").content.decode()
    assert "Secret" in engineer.get("/experiments/").content.decode()


def test_a_spent_budget_is_told_beside_the_progress_with_what_to_do(engineer: Client):
    experiment, policy = make_experiment("A & B"), make_policy(batch={"runs": 1})
    ended: dict[str, Any] = {"status": "cancelled", "outcome": "incomplete", "policy": policy}
    words = "limits per launch of Mine @1 are reached"
    make_run(experiment=experiment, end_reason="cancelled", **ended)
    assert words not in engineer.get(address(experiment, "progress")).content.decode()
    make_run(experiment=experiment, end_reason="never_started", **ended)
    told = engineer.get(address(experiment, "progress")).content.decode()
    assert words in told
    assert f'href="{reverse("runs:run_list")}?experiment=A%20%26%20B&amp;status=cancelled"' in told


def test_the_estimate_tells_the_most_that_the_policy_allows(engineer: Client):
    def told(**body: Any) -> str:
        policy = make_policy(**body)
        asked = sent(estimate="1", policy=policy.pk)
        return " ".join(engineer.post(NEW, asked, headers=HTMX).content.decode().split())

    short = "limits per launch will be reached before"
    assert "at most" not in engineer.post(NEW, sent(estimate="1"), headers=HTMX).content.decode()
    assert "at most 12 attempts" in told(infrastructure={"attempts": 2})
    limited = told(infrastructure={"attempts": 2}, batch={"runs": 8})
    assert "at most 8 attempts" in limited
    assert short not in limited
    assert short in told(infrastructure={"faults": []}, batch={"runs": 5})


@pytest.mark.slow
def test_the_list_tells_state_progress_and_whose_it_is(engineer: Client):
    launched(engineer)
    make_run(experiment=make_experiment("Came in"), outcome="error", status="failed")
    words = engineer.get("/experiments/").content.decode()
    assert "0 of 6 runs" in words
    assert '<span class="status finished">finished</span>' in words
    assert "engineer" in words


@pytest.mark.slow
def test_queries_do_not_grow_with_experiments(engineer: Client):
    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            engineer.get("/experiments/")
        return len(found)

    make_run(experiment=make_experiment())
    few = queries()
    for _ in range(5):
        make_run(experiment=make_experiment())
    assert queries() == few


@pytest.mark.parametrize(
    "wrong",
    [
        {"tasks": "clicktest", "more_agents": "looping:{", "seeds": "x"},
        {"name": "", "agents": [], "trials": 0, "seeds": "x", "parallelism": "many"},
        {"agents": ["no such"], "more_agents": "looping:{", "max_steps": "0", "policy": "99"},
    ],
)
def test_all_that_is_wrong_is_told_at_once_each_beside_its_field(
    engineer: Client, wrong: dict[str, Any]
):
    response = engineer.post(NEW, sent(launch="1", **wrong), headers=HTMX)
    told = re.findall(r'id="id_(\w+)_error"', response.content.decode())
    assert sorted(told) == sorted(wrong)
    assert not Experiment.objects.exists()


def test_a_model_of_the_file_can_be_chosen_as_it_is(
    engineer: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "models.toml"
    model = 'provider = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n'
    # One that lacks its key is not offered.
    file.write_text(f'[models.own]\n{model}[models.far]\n{model}api_key_env = "NO_SUCH_KEY"\n')
    monkeypatch.setattr(settings.ENV, "MODELS_FILE", file)
    page = engineer.get(NEW).content.decode()
    assert 'value="model:own"' in page
    assert "model:far" not in page
    assert engineer.post(NEW, sent(launch="1", agents=["model:own"])).status_code == 302
    config = Experiment.objects.get().runs.all()[0].agent.config
    assert (config["model"], config["benchmark"]) == ("own", "miniwob")
