"""Milestones that a model proposes: asked in the background, and none before a person adds it."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from judging.analysis.milestone_proposals.views import successful_runs
from runs.catalogue.milestones.services import set_milestones
from runs.knowledge.learning import carry_out
from runs.models import LearningJob, Milestone, Run, Task
from tests.judging.analysis.experiments.made import settle
from tests.judging.evaluating.asked_models import models_file
from tests.judging.evaluators.judges.test_proposals import proposed
from tests.judging.factories import make_study
from tests.runs.factories import client_of, make_run, make_task, make_user
from tests.webagent.llm.stub import LLMStub, fail, say
from webagent.milestones.findings import Definition

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql_only("slow, and alike on both")]


@pytest.fixture
def model(llm_stub: LLMStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LLMStub:
    """A model that proposes two milestones, asked in the test's own thread."""
    file = models_file(tmp_path, llm_stub.openai_url, at_a_time=1)
    monkeypatch.setattr(settings.ENV, "MODELS_FILE", file)
    monkeypatch.setattr("runs.queue.workers.current_app.send_task", lambda *a, **k: None)
    said = json.dumps(proposed("the basket is open", "the order is placed"))
    llm_stub.reply = lambda asked: say(said, input_tokens=1000, output_tokens=100)
    return llm_stub


@pytest.fixture
def engineer() -> Client:
    return client_of(make_user("engineer"))


@pytest.fixture
def task() -> Task:
    made = make_task(goal="Order a hose.")
    make_run(task=made, steps=[{"action": "click('buy-77')"}], final_answer="Ordered.")
    make_run(task=made, steps=1, outcome=Run.Outcome.FAILURE, reward=0.0, final_answer="Lost.")
    return made


def visit(client: Client, task: Task, **query: Any) -> str:
    answer = client.get(reverse("judging:milestone_proposals", args=[task.pk], query=query))
    assert answer.status_code == 200, answer
    return answer.content.decode()


def ask(client: Client, task: Task) -> LearningJob:
    address = reverse("judging:milestone_proposals_start", args=[task.pk])
    assert client.post(address, {"model": "stub-judge"}).status_code == 302
    return LearningJob.objects.get(kind=LearningJob.Kind.MILESTONES)


def decide(client: Client, task: Task, **sent: str) -> int:
    fields = {
        "proposal-0-name": "the basket is open",
        "proposal-0-weight": "1",
        "proposal-1-name": "the order is placed",
        "proposal-1-weight": "1",
    }
    address = reverse("judging:milestone_proposals_decide", args=[task.pk])
    return client.post(address, fields | sent).status_code


def test_proposals_become_milestones_only_as_a_person_words_them(
    model: LLMStub, engineer: Client, task: Task
) -> None:
    before = visit(engineer, task)
    assert "1 run that succeeded" in before
    assert "at most about $0.0" in before
    job = ask(engineer, task)
    assert "is being asked" in visit(engineer, task)
    assert carry_out(job.pk)
    [asked] = model.asked
    assert "buy-77" in asked.text
    assert "Lost." not in asked.text
    after = visit(engineer, task)
    assert "the basket is open" in after
    assert "Cost: $0.0012" in after  # 1,000 tokens at $1 and 100 at $2 a million
    assert not Milestone.objects.exists()

    sent = {
        "do": "accept",
        "proposal-1-chosen": "on",
        "proposal-1-name": "the order for a hose is placed",
        "proposal-1-weight": "2.5",
        "proposal-1-is_ordered": "on",
    }
    assert decide(engineer, task, **sent) == 302
    [milestone] = Milestone.objects.in_force()
    assert (milestone.name, milestone.weight) == ("the order for a hose is placed", 2.5)
    assert (milestone.is_ordered, milestone.origin) == (True, Milestone.Origin.PROPOSED)
    assert "the order is placed" not in visit(engineer, task)
    assert decide(engineer, task, **{"do": "reject", "proposal-0-chosen": "on"}) == 302
    assert "1 added, 1 rejected" in visit(engineer, task)
    assert Milestone.objects.count() == 1


def test_new_milestones_stand_behind_those_there_are(
    model: LLMStub, engineer: Client, task: Task
) -> None:
    set_milestones(task=task, milestones=[Definition(name="the basket is open", weight=4)])
    carry_out(ask(engineer, task).pk)
    both = {"do": "accept", "proposal-0-chosen": "on", "proposal-1-chosen": "on"}
    assert decide(engineer, task, **both) == 422, "one of that name is there"
    assert Milestone.objects.count() == 1
    assert decide(engineer, task, **{"do": "accept", "proposal-1-chosen": "on"}) == 302
    names = list(Milestone.objects.in_force().values_list("name", "weight"))
    assert names == [("the basket is open", 4.0), ("the order is placed", 1.0)]


@pytest.mark.parametrize(
    "sent",
    [
        {"do": "accept"},
        {"do": "accept", "proposal-0-chosen": "on", "proposal-0-weight": "0"},
        {"do": "accept", "proposal-0-chosen": "on", "proposal-0-name": " "},
        {"do": "accept", "proposal-7-chosen": "on"},
    ],
)
def test_what_cannot_be_added_stores_nothing(
    model: LLMStub, engineer: Client, task: Task, sent: dict[str, str]
) -> None:
    carry_out(ask(engineer, task).pk)
    assert decide(engineer, task, **sent) == 422
    assert not Milestone.objects.exists()
    assert "the basket is open" in visit(engineer, task)


def test_failure_of_the_provider_is_said_and_can_be_asked_again(
    model: LLMStub, engineer: Client, task: Task
) -> None:
    model.queue(fail(400))
    job = ask(engineer, task)
    carry_out(job.pk)
    text = visit(engineer, task)
    assert "The last request returned nothing." in text
    assert "Propose milestones" in text
    assert not Milestone.objects.exists()


def test_question_under_way_can_be_cancelled_and_put_anew(
    model: LLMStub, engineer: Client, task: Task
) -> None:
    job = ask(engineer, task)
    address = reverse("judging:milestone_proposals_cancel", args=[task.pk])
    assert engineer.post(address).status_code == 302
    job.refresh_from_db()
    assert job.state == LearningJob.State.CANCELLED
    assert not carry_out(job.pk)
    assert "Propose milestones" in visit(engineer, task)


def test_successes_are_those_of_people_before_those_of_the_benchmark(task: Task) -> None:
    by_benchmark = Run.objects.get(task=task, outcome=Run.Outcome.SUCCESS)
    by_people = make_run(task=task, steps=5, outcome=Run.Outcome.FAILURE, reward=0.0)
    settle(by_people, "success")
    overruled = make_run(task=task, steps=1)
    settle(overruled, "failure")
    assert successful_runs(task) == [by_people.pk, by_benchmark.pk]


def test_without_a_model_it_says_what_is_missing(engineer: Client, task: Task) -> None:
    text = visit(engineer, task)
    assert "MODELS_FILE" in text
    assert 'name="model"' not in text


def test_task_under_judgement_and_strangers_see_no_proposals(task: Task) -> None:
    judging = make_user("engineer")
    make_study(runs=list(Run.objects.filter(task=task)), annotators=[judging, make_user()])
    address = reverse("judging:milestone_proposals", args=[task.pk])
    assert client_of(judging).get(address).status_code == 404
    client = client_of(make_user("annotator"))
    for name in ("start", "cancel", "decide"):
        assert client.get(f"{address}{name}/").status_code in (403, 405)
