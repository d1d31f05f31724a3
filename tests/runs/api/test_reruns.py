"""Reruns by the API: launched once, watched, stopped."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from runs.api.idempotency import forget_old_answers
from runs.launching.reruns import services as reruns
from runs.launching.reruns.services import queue_run
from runs.models import ApiAnswer, Run, RunStatus, Scope
from tests.judging.factories import make_study
from tests.runs.api.asking import Caller, fields, told
from tests.runs.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reruns, "wake_workers", lambda: None)


@pytest.fixture
def caller() -> Caller:
    return Caller(make_user("engineer"), Scope.RERUNS_LAUNCH)


@pytest.fixture
def run() -> Run:
    made = queue_run(task="miniwob.click-test", agent="oracle", seed=4)
    Run.objects.filter(pk=made.pk).update(status=RunStatus.FINISHED, outcome="failure")
    return Run.objects.get(pk=made.pk)


def _asked(run: Run, **changes: Any) -> dict[str, Any]:
    return {"runs": [str(run.pk)], "trials": 2, **changes}


@pytest.mark.slow
def test_a_story(caller: Caller, run: Run) -> None:
    agents = [each["agent"] for each in caller.get("/rerun-agents").json()["items"]]
    assert "oracle" in agents
    launched = caller.post("/reruns", _asked(run))
    assert launched.status_code == 202
    body = launched.json()
    assert body["counts"]["queued"] == 2
    assert {each["rerun_of"] for each in body["runs"]} == {str(run.pk)}
    place = launched["Location"].removeprefix("/api/v1")
    assert place == f"/reruns/{body['id']}"
    assert caller.get(place).json() == body
    stopping = caller.post(f"{place}/cancel")
    assert stopping.status_code == 202
    assert all(each["is_cancelling"] for each in stopping.json()["runs"])
    first = body["runs"][0]["id"]
    assert caller.post(f"/runs/{first}/cancel").json()["status"] == "cancelled"
    Run.objects.end_cancelled()
    state = caller.get(place).json()
    assert state["is_done"]
    assert state["counts"]["cancelled"] == 2


def test_the_same_key_launches_once(caller: Caller, run: Run) -> None:
    first = caller.post("/reruns", _asked(run), Idempotency_Key="k1")
    again = caller.post("/reruns", _asked(run), Idempotency_Key="k1")
    assert (again.status_code, again.content) == (202, first.content)
    assert again["Location"] == first["Location"]
    assert again["Idempotency-Replayed"] == "true"
    assert Run.objects.filter(rerun_of=run).count() == 2
    reused = caller.post("/reruns", _asked(run, trials=3), Idempotency_Key="k1")
    assert fields(reused) == ["header.Idempotency-Key"]
    other = Caller(make_user("engineer"), Scope.RERUNS_LAUNCH)
    assert other.post("/reruns", _asked(run), Idempotency_Key="k1").status_code == 202
    assert Run.objects.filter(rerun_of=run).count() == 4
    assert fields(caller.post("/reruns", _asked(run), Idempotency_Key="x" * 256)) != []


def test_what_was_refused_keeps_no_key(caller: Caller, run: Run) -> None:
    told(caller.post("/reruns", _asked(run, agent="nobody"), Idempotency_Key="k1"), 422)
    assert not ApiAnswer.objects.exists()
    assert caller.post("/reruns", _asked(run), Idempotency_Key="k1").status_code == 202


def test_the_checks_of_the_page_are_made(caller: Caller, run: Run) -> None:
    assert fields(caller.post("/reruns", _asked(run, agent="nobody"))) == ["body.agent"]
    assert fields(caller.post("/reruns", _asked(run, seeds="fixed"))) == ["body.seed"]
    many = {"runs": [str(run.pk)] * 501}
    assert fields(caller.post("/reruns", many)) == ["body.runs"]
    annotator = Caller(make_user("annotator"))
    told(annotator.post("/reruns", _asked(run)), 403)
    told(caller.get(f"/reruns/{run.pk}"), 404)
    make_study(runs=[run], annotators=[caller.token.owner])
    assert (
        "judging this run"
        in told(caller.post("/reruns", _asked(run, agent="oracle")), 409)["detail"]
    )
    assert not Run.objects.filter(rerun_of=run).exists()


@pytest.mark.slow
def test_a_key_is_kept_for_a_day(caller: Caller, run: Run) -> None:
    caller.post("/reruns", _asked(run), Idempotency_Key="k1")
    assert forget_old_answers() == 0
    yesterday = timezone.now() - timedelta(hours=25)
    ApiAnswer.objects.update(created_at=yesterday)
    again = caller.post("/reruns", _asked(run, trials=1), Idempotency_Key="k1")
    assert again.status_code == 202
    assert "Idempotency-Replayed" not in again
    ApiAnswer.objects.update(created_at=yesterday)
    assert forget_old_answers() == 1
