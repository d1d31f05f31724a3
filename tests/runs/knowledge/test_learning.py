"""Learning jobs: resumed where they stopped, limited, cancelled, and nothing asked twice."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from pydantic import JsonValue

from runs.knowledge import learning
from runs.knowledge.learning import (
    Learned,
    Learning,
    cancel_learning,
    carry_out,
    resume_learning,
    start_learning,
    sweep_learning,
)
from runs.models import LearningJob
from runs.queue.paid_work import WorkRefusedError
from tests.judging.evaluating.asked_models import models_file
from tests.runs.factories import make_user
from tests.webagent.llm.stub import LLMStub, fail, say
from webagent.llm.interface import LanguageModel, Message, Request

pytestmark = pytest.mark.django_db

State = LearningJob.State
KIND = LearningJob.Kind.EXTRACT


class Spelling(Learning):
    """Asks for each word of `params["words"]`; its report joins what came back."""

    def keys(self, job: LearningJob) -> Sequence[str]:
        if not job.params["words"]:
            raise WorkRefusedError("There are no words.")
        return list(job.params["words"])

    def learn(self, job: LearningJob, key: str, model: LanguageModel) -> Learned:
        said = model.complete(Request(model=job.model, messages=(Message.user(key),)))
        return Learned(result={"said": said.text})

    def finish(self, job: LearningJob) -> Mapping[str, JsonValue]:
        return {"said": [item.result.get("said", "") for item in job.items.all()]}


@pytest.fixture
def model(llm_stub: LLMStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LLMStub:
    """A model that answers in capitals, one request at a time, so in the test's own thread."""
    file = models_file(tmp_path, llm_stub.openai_url, at_a_time=1)
    monkeypatch.setattr(settings.ENV, "MODELS_FILE", file)
    monkeypatch.setitem(learning._kinds, KIND, Spelling())
    monkeypatch.setattr("runs.queue.workers.current_app.send_task", lambda *a, **k: None)
    llm_stub.reply = lambda asked: say(
        asked.text.strip().upper(), input_tokens=100, output_tokens=10
    )
    return llm_stub


def job_of(*words: str, max_cost: Decimal | None = None) -> LearningJob:
    return start_learning(
        kind=KIND, model="stub-judge", params={"words": list(words)}, max_cost=max_cost
    )


def now(job: LearningJob) -> LearningJob:
    return LearningJob.objects.get(pk=job.pk)


def abandon(job: LearningJob) -> None:
    """As a worker leaves it that was killed."""
    ago = timezone.now() - timedelta(hours=1)
    LearningJob.objects.filter(pk=job.pk).update(state=State.RUNNING, lease_expires_at=ago)


def test_every_item_is_asked_once_and_counted(model: LLMStub):
    job = job_of("one", "two", "three")
    assert carry_out(job.pk)
    ended = now(job)
    assert ended.state == State.FINISHED
    assert ended.report == {"said": ["ONE", "TWO", "THREE"]}
    assert (ended.n_total, ended.n_done, ended.n_problems) == (3, 3, 0)
    assert (ended.input_tokens, ended.output_tokens) == (300, 30)
    assert ended.spent == Decimal("0.000360")
    assert not carry_out(job.pk)
    assert len(model.asked) == 3


@pytest.mark.fault(1, "a process dies in the middle of a learning job")
def test_what_a_killed_worker_had_done_is_kept(model: LLMStub, monkeypatch: pytest.MonkeyPatch):
    job = job_of("one", "two", "three")
    ask = Spelling.learn

    def killed(self: Spelling, job: LearningJob, key: str, model: LanguageModel) -> Learned:
        if key == "three":
            raise KeyboardInterrupt
        return ask(self, job, key, model)

    monkeypatch.setattr(Spelling, "learn", killed)
    with pytest.raises(KeyboardInterrupt):
        carry_out(job.pk)
    assert (now(job).state, now(job).n_done) == (State.RUNNING, 2)
    monkeypatch.setattr(Spelling, "learn", ask)
    spent = now(job).spent
    assert not carry_out(job.pk), "its lease holds"
    abandon(job)
    assert carry_out(job.pk)
    assert now(job).report == {"said": ["ONE", "TWO", "THREE"]}
    assert len(model.asked) == 3
    assert now(job).spent > spent > 0


@pytest.mark.fault(5, "a learning job is taken from a process that goes on")
def test_worker_that_lost_its_job_writes_nothing(model: LLMStub, monkeypatch: pytest.MonkeyPatch):
    job = job_of("one", "two")

    def taken_over(*_: object) -> Learned:
        LearningJob.objects.filter(pk=job.pk).update(lease_token=99)
        return Learned(result={"said": "late"})

    monkeypatch.setattr(Spelling, "learn", taken_over)
    assert carry_out(job.pk)
    assert (now(job).state, now(job).n_done) == (State.RUNNING, 0)
    assert not job.items.filter(is_done=True).exists()


def test_an_item_that_fails_is_told_and_tried_again_on_resume(model: LLMStub):
    job = job_of("one", "two")
    model.queue(fail(400, "no such thing"))
    assert carry_out(job.pk)
    ended = now(job)
    assert (ended.state, ended.n_done, ended.n_problems) == (State.FINISHED, 2, 1)
    assert "no such thing" in job.items.get(key="one").problem
    LearningJob.objects.filter(pk=job.pk).update(state=State.CANCELLED)
    assert resume_learning(job=now(job))
    assert now(job).n_done == 1
    assert carry_out(job.pk)
    assert now(job).report == {"said": ["ONE", "TWO"]}


def test_a_limit_of_costs_stops_it_and_a_higher_one_goes_on(model: LLMStub):
    job = job_of("one", "two", max_cost=Decimal("0.003"))
    model.queue(say("ONE", input_tokens=100, output_tokens=1024))
    assert carry_out(job.pk)
    stopped = now(job)
    assert (stopped.state, stopped.n_done) == (State.STOPPED_BY_BUDGET, 1)
    with pytest.raises(WorkRefusedError):
        resume_learning(job=stopped, max_cost=stopped.spent)
    assert resume_learning(job=stopped, max_cost=Decimal(1))
    assert carry_out(job.pk)
    assert now(job).state == State.FINISHED


def test_a_model_without_its_key_breaks_the_job_off(model: LLMStub):
    job = job_of("one", "two")
    model.queue(fail(401, "wrong key"))
    assert carry_out(job.pk)
    assert (now(job).state, now(job).n_done) == (State.FAILED, 0)
    assert "does not accept the key" in now(job).problem


def test_a_job_that_makes_no_sense_says_why(model: LLMStub):
    job = job_of()
    assert carry_out(job.pk)
    assert (now(job).state, now(job).problem) == (State.FAILED, "There are no words.")


def test_cancelling_ends_it(model: LLMStub):
    waiting, abandoned = job_of("one"), job_of("two")
    assert cancel_learning(job=waiting)
    assert now(waiting).state == State.CANCELLED
    assert not carry_out(waiting.pk)
    abandon(abandoned)
    assert cancel_learning(job=abandoned)
    sweep_learning()
    assert now(abandoned).state == State.CANCELLED


def test_two_jobs_of_one_model_do_not_run_together(model: LLMStub):
    first, second = job_of("one"), job_of("two")
    assert LearningJob.objects.claim(first.pk, lease_s=60)
    assert not carry_out(second.pk)
    assert now(second).state == State.QUEUED


@pytest.mark.slow
@pytest.mark.fault(1, "every process that works on a learning job dies")
def test_a_job_that_kills_its_workers_is_given_up(model: LLMStub):
    job = job_of("one")
    for _ in range(settings.ENV.MAX_ATTEMPTS):
        abandon(job)
        LearningJob.objects.claim(job.pk, lease_s=60)
    abandon(job)
    sweep_learning()
    assert now(job).state == State.FAILED
    assert "died" in now(job).problem


@pytest.mark.slow
@pytest.mark.fault(11, "a form that starts a job is sent twice")
def test_a_double_click_starts_one_job(model: LLMStub):
    person, other = make_user(), make_user()
    wish: dict[str, Any] = {
        "kind": KIND,
        "model": "stub-judge",
        "params": {"words": ["one"], "n": 2},
    }
    first = start_learning(**wish, user=person)
    assert start_learning(**wish, user=person) == first
    assert start_learning(**wish | {"params": {"words": ["two"], "n": 2}}, user=person) != first
    assert start_learning(**wish, user=other) != first
    cancel_learning(job=first)
    assert start_learning(**wish, user=person) != first, "one that has ended does not count"


def test_a_model_that_is_not_there_is_said_at_once(model: LLMStub):
    with pytest.raises(WorkRefusedError, match="no such model"):
        start_learning(kind=KIND, model="nobody", params={})
    assert not LearningJob.objects.exists()
