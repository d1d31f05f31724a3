"""The same key at the same moment, on the real database with real threads."""

import pytest
from django.test import Client

from runs.launching.reruns import services as reruns
from runs.launching.reruns.services import queue_run
from runs.models import ApiAnswer, Run, RunStatus
from tests.judging.studies.test_concurrency import at_once
from tests.runs.api.asking import Caller
from tests.runs.factories import make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_one_key_at_the_same_moment_has_one_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reruns, "wake_workers", lambda: None)
    caller = Caller(make_user("engineer"))
    run = queue_run(task="miniwob.click-test", agent="oracle", seed=4)
    Run.objects.filter(pk=run.pk).update(status=RunStatus.FINISHED)

    def launch() -> tuple[int, bytes]:
        client = Client(headers={"Authorization": f"Bearer {caller.key}"})
        answer = client.post(
            "/api/v1/reruns",
            f'{{"runs": ["{run.pk}"]}}',
            content_type="application/json",
            headers={"Idempotency-Key": "one"},
        )
        return answer.status_code, answer.content

    answers = at_once(*[launch] * 6)
    assert {status for status, _ in answers} == {202}  # type: ignore[misc]  # none raised
    assert len({body for _, body in answers}) == 1  # type: ignore[misc]
    assert Run.objects.filter(rerun_of=run).count() == 1
    assert ApiAnswer.objects.get().status == 202
