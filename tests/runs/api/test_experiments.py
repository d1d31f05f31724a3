"""Experiments by the API: estimated, launched once, with limits as arms."""

from typing import Any

import pytest

from runs.models import Experiment, Run, Scope
from tests.runs.api.asking import Caller, fields, told
from tests.runs.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller() -> Caller:
    return Caller(make_user("engineer"), Scope.RERUNS_LAUNCH, Scope.RUNS_READ)


def asked(**changes: Any) -> dict[str, Any]:
    return {
        "name": "By API",
        "task_set": "miniwob",
        "tasks": ["click-test", "click-button"],
        "agents": [{"agent": "oracle"}, {"agent": "stuck", "config": {"block": ["noop(1)"]}}],
        "max_steps": [2, 5],
        **changes,
    }


@pytest.mark.slow
def test_limits_are_arms(caller: Caller) -> None:
    found = caller.post("/experiment-estimates", asked()).json()
    assert (found["runs"], len(found["agents"])) == (8, 4)
    assert {each["config"]["max_steps"] for each in found["agents"]} == {2, 5}
    assert found["agents"][0]["seconds_per_run"] is None
    assert not Experiment.objects.exists()

    launched = caller.post("/experiments", asked(), Idempotency_Key="k")
    assert launched.status_code == 202
    assert launched.json()["runs"]["total"] == 8
    place = launched["Location"].removeprefix("/api/v1")
    assert caller.get(place).json() == launched.json()
    again = caller.post("/experiments", asked(), Idempotency_Key="k")
    assert again.json() == launched.json()
    limits = Run.objects.values_list("max_steps", "agent__config__max_steps")
    assert sorted(limits) == [(2, 2)] * 4 + [(5, 5)] * 4


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"max_steps": [0]}, "body.max_steps"),
        ({"max_steps": [2, 2]}, "body.max_steps"),
        ({"knowledge_tokens": [None]}, "body.knowledge_tokens"),
        ({"agents": [{"agent": "nobody"}]}, "body.agents"),
        ({"agents": [{"agent": "oracle\nstuck"}]}, "body.agents.0.agent"),
        ({"tasks": ["none such"]}, "body.tasks"),
        ({"task_set": "none"}, "body.task_set"),
        ({"policy": 999_999}, "body.policy"),
        ({"seeds": "x"}, "body.seeds"),
    ],
)
@pytest.mark.slow
def test_what_is_wrong_is_named(caller: Caller, wrong: dict[str, Any], field: str) -> None:
    for path in ("/experiments", "/experiment-estimates"):
        assert field in fields(caller.post(path, asked(**wrong)))
    assert not Run.objects.exists()


@pytest.mark.slow
def test_a_taken_name_is_refused(caller: Caller) -> None:
    assert caller.post("/experiments", asked()).status_code == 202
    assert fields(caller.post("/experiments", asked())) == ["body.name"]


def test_it_takes_scope_and_permission() -> None:
    told(Caller(make_user("engineer"), Scope.RUNS_READ).post("/experiments", asked()), 403)
    told(Caller(make_user("annotator")).post("/experiments", asked()), 403)
