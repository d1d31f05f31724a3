"""The page of a run that goes on: what is new comes to it, and nothing that is hidden."""

import json
import re
from typing import Any

import pytest
from django.utils import timezone

from runs.models import Run, RunStatus, Step, User
from tests.judging.factories import make_study
from tests.runs.factories import client_of, make_agent, make_run, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]


def live_run(steps: int = 2, **fields: Any) -> Run:
    """A run that a worker carries out."""
    now = timezone.now()
    going: dict[str, Any] = {"status": RunStatus.RUNNING, "outcome": "unknown"}
    going["end_reason"] = "unknown"
    lease: dict[str, Any] = {"lease_owner": "w", "lease_token": 1, "lease_expires_at": now}
    lease["heartbeat_at"] = now
    return make_run(steps=steps, reward=None, claimed_at=now, **going, **lease, **fields)


def add_step(run: Run, **fields: Any) -> None:
    Step.objects.create(run=run, index=run.n_steps, action="click('new')", **fields)
    run.n_steps += 1
    run.heartbeat_at = timezone.now()
    run.save(update_fields=["n_steps", "heartbeat_at"])


def asks_for(page: str) -> str:
    """The address that the page asks for news."""
    found = re.search(r'id="run-live"[^>]*hx-get="([^"]+)"', page)
    assert found
    return found[1]


def news_of(page: str) -> dict[str, Any]:
    found = re.search(r'id="live-news" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    news: dict[str, Any] = json.loads(found[1])
    return news


@pytest.mark.slow
def test_news_come_once(engineer: User) -> None:
    run, client = live_run(), client_of(engineer)
    address = asks_for(client.get(f"/runs/{run.pk}/").content.decode())
    assert client.get(address).status_code == 204
    add_step(run, url="http://shop.local/new")
    answer = client.get(address)
    news = news_of(answer.content.decode())
    assert [step["i"] for step in news["steps"]] == [1, 2]
    assert list(news["texts"]) == ["2"]
    assert news["texts"]["2"]["action"] == "click('new')"
    assert not news["ended"]
    assert client.get(asks_for(answer.content.decode())).status_code == 204


@pytest.mark.slow
def test_a_sign_of_life_and_a_step_given_up_are_news_too(engineer: User) -> None:
    run, client = live_run(), client_of(engineer)
    address = asks_for(client.get(f"/runs/{run.pk}/").content.decode())
    run.steps.filter(index=1).update(state=Step.State.SUPERSEDED)
    Run.objects.filter(pk=run.pk).update(heartbeat_at=timezone.now())
    news = news_of(client.get(address).content.decode())
    assert (news["steps"], news["states"]) == ([], {"1": "superseded"})


@pytest.mark.slow
def test_the_end_is_told_and_nothing_is_asked_any_more(engineer: User) -> None:
    run, client = live_run(), client_of(engineer)
    address = asks_for(client.get(f"/runs/{run.pk}/").content.decode())
    ended = {"status": "finished", "outcome": "success", "end_reason": "task_ended"}
    Run.objects.filter(pk=run.pk).update(**ended, final_answer="12", ended_at=timezone.now())
    page = client.get(address).content.decode()
    assert "hx-get" not in page
    news = news_of(page)
    assert news["ended"]
    assert news["final"] == {"answer": "12", "words": "ended: task ended", "sign": ""}
    assert "run-live" not in client.get(f"/runs/{run.pk}/").content.decode()


def test_it_can_be_asked_to_stop_from_there(engineer: User) -> None:
    run, client = live_run(), client_of(engineer)
    cancel = f'hx-post="/runs/{run.pk}/cancel/"'
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert cancel in page
    client.post(f"/runs/{run.pk}/cancel/")
    news = client.get(asks_for(page)).content.decode()
    assert "stopping …" in news
    assert cancel not in news
    other = client_of(make_user("adjudicator"))
    assert cancel not in other.get(f"/runs/{run.pk}/").content.decode()


def test_whoever_judges_it_learns_neither_names_nor_the_end() -> None:
    run = live_run(agent=make_agent("secret-agent", "secret-model"))
    add_step(run, input_tokens=987654, cost="55.5", record={"llm_calls": [{"model": "secret"}]})
    judge = make_user("engineer")
    make_study(runs=[run], annotators=[judge, make_user("annotator")])
    client = client_of(judge)
    assert client.get(f"/runs/{run.pk}/live/?seen=1-0").status_code == 200
    ended = {"status": "finished", "outcome": "failure", "end_reason": "max_steps"}
    Run.objects.filter(pk=run.pk).update(**ended, error_message="secret-crash", reward=0.4321)
    page = client.get(f"/runs/{run.pk}/live/?seen=1-0").content.decode()
    news = news_of(page)
    assert news["final"]["words"] == "ended"
    hidden = ("secret", "987654", "55.5", "0.4321", "step limit", "failure", "tokens")
    assert not [word for word in hidden if word in page]


def test_nonsense_for_what_was_seen_is_answered(engineer: User) -> None:
    address = f"/runs/{live_run().pk}/live/"
    assert client_of(engineer).get(f"{address}?seen=%00x").status_code == 200


@pytest.mark.slow
def test_news_cost_the_same_however_long_the_run_is(
    engineer: User, django_assert_max_num_queries: Any
) -> None:
    client = client_of(engineer)
    for steps in (2, 12):
        run = live_run(steps=steps)
        address = asks_for(client.get(f"/runs/{run.pk}/").content.decode())
        with django_assert_max_num_queries(6):
            assert client.get(address).status_code == 204
        add_step(run)
        with django_assert_max_num_queries(9):
            assert client.get(address).status_code == 200
