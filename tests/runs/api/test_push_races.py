"""The same step at the same moment, on the real database with real threads."""

import json

import pytest
from django.test import Client

from runs.models import Run, Step
from runs.models.runs.queue import from_now
from runs.queue.sweeping import sweep_runs
from tests.judging.studies.test_concurrency import at_once
from tests.runs.api.pushing import Pusher, step
from tests.runs.factories import make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_of_one_step_at_the_same_moment_one_stands() -> None:
    pusher = Pusher(make_user("engineer"))
    run = pusher.open()
    path = f"/api/v1/runs/{run.pk}/steps/0"

    def push(thought: str) -> tuple[int, int]:
        client = Client(headers=dict(pusher.headers))
        body = json.dumps(step(0, thought=thought))
        answer = client.put(path, body, content_type="application/json")
        return answer.status_code, answer.json().get("next_step", -1)

    same = at_once(*[lambda: push("the same")] * 4)
    assert sorted(same) == [(200, 1), (200, 1), (200, 1), (201, 1)]  # type: ignore[type-var]
    assert Step.objects.filter(run=run).count() == 1
    path = f"/api/v1/runs/{run.pk}/steps/1"
    others = at_once(*[lambda n=n: push(f"thought {n}") for n in range(4)])
    assert sorted(status for status, _ in others) == [201, 409, 409, 409]  # type: ignore[misc]
    run.refresh_from_db()
    assert (run.n_steps, run.n_screenshots, run.steps.count()) == (2, 2, 2)


def test_a_late_step_and_the_sweep_do_not_meet() -> None:
    pusher = Pusher(make_user("engineer"))
    run = pusher.open()
    Run.objects.filter(pk=run.pk).update(lease_expires_at=from_now(-1))
    status, _none = at_once(lambda: pusher.step(run, 0).status_code, sweep_runs)
    run.refresh_from_db()
    steps = run.steps.count()
    assert (status, run.status, steps) in ((201, "running", 1), (410, "finished", 0))
    assert run.n_steps == steps
