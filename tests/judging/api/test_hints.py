"""Hints by the API: estimated, within a limit of cost, in other words, from several runs."""

from typing import Any

import pytest

from runs.knowledge.learning import carry_out
from runs.models import Hint, LearningJob, Scope
from tests.judging.analysis import audited
from tests.runs.api.asking import Caller, fields, told
from tests.runs.factories import make_user
from tests.runs.knowledge.lever_world import inhabited, successes
from webagent.knowledge.hints import HintWords, load_wording

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with inhabited(tmp_path_factory.mktemp("levers")) as stub:
        yield stub


@pytest.fixture
def caller() -> Caller:
    return Caller(make_user("engineer"))


def asked(**changes: Any) -> dict[str, Any]:
    return {"task_set": "levers", "model": "stub-judge", "levels": ["concrete"], **changes}


@pytest.mark.slow
def test_a_story(world, caller: Caller) -> None:
    runs = successes()
    successes()  # a second run of every task
    found = caller.post("/hint-estimates", asked(per_task=2)).json()
    assert (found["hints"], found["runs"]) == (len(runs), 2 * len(runs))
    assert found["most"] == pytest.approx(3 * found["cost"])
    alone = caller.post("/hint-estimates", asked()).json()
    assert found["input_tokens"] > alone["input_tokens"]
    assert not LearningJob.objects.exists()

    wording = {"name": "coach", "concrete": "Write down what to do."}
    launched = caller.post("/hint-jobs", asked(per_task=2, wording=wording, max_cost=5))
    assert launched.status_code == 202, launched.content
    job = LearningJob.objects.get()
    assert 0 < float(job.estimate["cost"]) < 5
    assert carry_out(job.pk)
    place = launched["Location"].removeprefix("/api/v1")
    state = caller.get(place).json()
    assert (state["state"], state["n_done"], state["max_cost"]) == (
        "finished",
        len(runs),
        "5.000000",
    )
    hints = list(Hint.objects.prefetch_related("further"))
    assert {(hint.prompt_version, hint.further.count()) for hint in hints} == {("coach", 1)}
    own = load_wording(HintWords(name="coach", concrete="Write down what to do."))
    assert {hint.prompt_hash for hint in hints} == {own.sha256}
    assert caller.post(f"{place}/cancel").status_code == 202


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"model": "none"}, "body.model"),
        ({"levels": []}, "body.levels"),
        ({"per_task": 6}, "body.per_task"),
        ({"verdict": "rumour"}, "body.verdict"),
        ({"wording": {"name": "x"}}, "body.wording.name"),
        ({"wording": {"name": "x", "system": "{{log}}"}}, "body.wording.name"),
        ({"max_cost": 0}, "body.max_cost"),
    ],
)
@pytest.mark.slow
def test_what_is_wrong_is_named(world, caller: Caller, wrong: dict[str, Any], field: str) -> None:
    successes()
    for path in ("/hint-estimates", "/hint-jobs"):
        assert field in fields(caller.post(path, asked(**wrong)))
    assert not LearningJob.objects.exists()


def test_it_takes_scope_and_permission(world) -> None:
    told(Caller(make_user("engineer"), Scope.RUNS_READ).post("/hint-jobs", asked()), 403)
    viewer = audited.person("viewer", "judging.view_audit", "runs.view_experiment")
    told(Caller(viewer).post("/hint-jobs", asked()), 403)
