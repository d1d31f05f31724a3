"""Pages of web knowledge: what they show, to whom, and what their forms do."""

import json
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from pydantic import JsonValue

from runs.catalogue.agents import value_in_words
from runs.knowledge.learning import carry_out
from runs.knowledge.web.pages import config_line
from runs.knowledge.web.sets import Given, knowledge_given, recount
from runs.launching.experiments.plans import read_agent
from runs.launching.experiments.selection import PlanError
from runs.models import KnowledgeEntry, KnowledgeSet, LearningJob, Run, User
from tests.judging.evaluating.asked_models import models_file
from tests.runs.factories import make_agent, make_experiment, make_run, make_user
from tests.runs.knowledge.scribe import scribe
from tests.webagent.llm.stub import LLMStub

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]
INTENT = "Reveal the filter builder"


@pytest.fixture
def engineer() -> User:
    return make_user()


@pytest.fixture
def page(client: Client, engineer: User) -> Client:
    client.force_login(engineer)
    return client


@pytest.fixture
def model(llm_stub: LLMStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LLMStub:
    file = models_file(tmp_path, llm_stub.openai_url, at_a_time=1)
    monkeypatch.setattr(settings.ENV, "MODELS_FILE", file)
    monkeypatch.setattr("runs.queue.workers.current_app.send_task", lambda *a, **k: None)
    llm_stub.reply = scribe
    return llm_stub


def made(run: Run, kind: str = "raw", n_tokens: int = 50, **fields: object) -> KnowledgeSet:
    """A set with one entry from the run."""
    kept = KnowledgeSet.objects.create(
        name="shop", site="shopping", kind=kind, n_entries=1, n_tokens=n_tokens, **fields
    )
    entry = kept.entries.create(position=0, intent=INTENT, ok="Use the button.", ng="All fails.")
    entry.sources.create(run=run, steps=[1, 2])
    return kept


def text(client: Client, path: str, status: int = 200) -> str:
    response = client.get(path)
    assert response.status_code == status
    return response.content.decode()


@pytest.mark.slow
def test_the_list_leads_to_a_set_with_its_entries_and_their_runs(page: Client):
    run = make_run(pictures=False)
    kept = made(run)
    assert f"/knowledge/{kept.pk}/" in text(page, "/knowledge/")
    shown = text(page, f"/knowledge/{kept.pk}/")
    assert INTENT in shown
    assert f"/runs/{run.pk}/#step-1" in shown
    assert "50 tokens" in shown


def test_search_finds_entries_by_their_words(page: Client):
    kept = made(make_run(pictures=False))
    kept.entries.create(position=1, intent="Sort the list", ng="The menu cannot.")
    found = text(page, f"/knowledge/{kept.pk}/?q=menu+sort")
    assert "Sort the list" in found
    assert INTENT not in found


@pytest.mark.slow
def test_a_long_raw_block_is_warned_of(page: Client):
    run = make_run(pictures=False)
    long = made(run, n_tokens=16_000)
    short = made(run, kind="summarised", n_tokens=5_999)
    said = text(page, f"/knowledge/{long.pk}/")
    assert "Not all entries fit: " in said
    assert "&quot;knowledge_tokens&quot;: null" in said
    summary = made(run, kind="summarised", n_tokens=6_001, version=2)
    offered = text(page, f"/knowledge/{summary.pk}/")
    assert "&quot;select&quot;: &quot;relevant&quot;" in offered
    said = text(page, f"/knowledge/{short.pk}/")
    assert "message warning" not in said


@pytest.mark.slow
def test_run_and_experiment_lead_to_what_they_taught_and_had(page: Client):
    experiment = make_experiment()
    run = make_run(pictures=False, experiment=experiment)
    taught = made(run)
    had = made(make_run(pictures=False), version=2, content_hash="f" * 64)
    agent = make_agent(config={"knowledge": {"sha256": "f" * 64}})
    user = make_run(pictures=False, agent=agent, experiment=experiment)
    other = make_run(pictures=False)
    assert f"/knowledge/?run={run.pk}" in text(page, f"/runs/{run.pk}/")
    assert f"/knowledge/?experiment={experiment.pk}" in text(page, f"/experiments/{experiment.pk}/")
    of_run = text(page, f"/knowledge/?run={run.pk}")
    assert f"/knowledge/{taught.pk}/" in of_run
    assert f"/knowledge/{had.pk}/" not in of_run
    assert f"/knowledge/{had.pk}/" in text(page, f"/knowledge/?run={user.pk}")
    assert f"/knowledge/{had.pk}/" in text(page, f"/runs/{user.pk}/")
    assert f"/knowledge/{had.pk}/" not in text(page, f"/runs/{run.pk}/")
    both = text(page, f"/knowledge/?experiment={experiment.pk}")
    assert f"/knowledge/{taught.pk}/" in both
    assert f"/knowledge/{had.pk}/" in both
    assert "No knowledge yet" in text(page, f"/knowledge/?run={other.pk}")
    assert f"/runs/{user.pk}/" in text(page, f"/knowledge/{had.pk}/")


def test_an_entry_is_edited_and_switched_off(page: Client):
    kept = made(make_run(pictures=False))
    entry = kept.entries.get()
    words = {"intent": "Open the filter", "ok": "", "ng": "It stays shut."}
    response = page.post(f"/knowledge/entries/{entry.pk}/", words)
    assert response.headers["Location"] == f"/knowledge/{kept.pk}/?at=0#entry-0"
    page.post(f"/knowledge/entries/{entry.pk}/switch/", {"off": ""})
    entry.refresh_from_db()
    kept.refresh_from_db()
    assert (entry.intent, entry.is_edited, entry.is_enabled) == ("Open the filter", True, False)
    assert kept.n_entries == 0


def test_an_entry_without_ng_is_refused(page: Client):
    entry = made(make_run(pictures=False)).entries.get()
    response = page.post(f"/knowledge/entries/{entry.pk}/", {"intent": "x", "ok": "", "ng": " "})
    assert response.status_code == 422


def test_an_entry_that_nobody_may_be_told_can_be_mended_and_is_told_of(
    page: Client, model: LLMStub
):
    kept = made(make_run(pictures=False))
    rows = [kept.entries.create(position=n, intent=f"{n} " * 1500, ng="") for n in (1, 2)]
    with pytest.raises(PlanError, match="longer than 2000 characters: “1 1"):
        read_agent('generic:{"model": "stub-judge", "knowledge": "shop shopping raw v1"}')
    asked = {"model": "stub-judge", "estimate": "1"}
    said = page.post(f"/knowledge/{kept.pk}/summarise/", asked, headers={"HX-Request": "true"})
    assert "longer than 2000" in said.content.decode()
    said = page.post(f"/knowledge/{kept.pk}/summarise/", asked | {"start": "1"})
    assert (said.status_code, "longer than 2000" in said.content.decode()) == (422, True)
    words = {"intent": "Open", "ok": "", "ng": "It stays shut."}
    assert page.post(f"/knowledge/entries/{rows[0].pk}/", words).status_code == 302
    assert page.post(f"/knowledge/entries/{rows[1].pk}/switch/", {"off": ""}).status_code == 302
    kept.refresh_from_db()
    assert kept.n_entries == 2
    assert read_agent('generic:{"model": "stub-judge", "knowledge": "shop shopping raw v1"}')


@pytest.mark.slow
def test_extraction_is_estimated_started_and_watched(page: Client, model: LLMStub):
    experiment = make_experiment()
    make_run(pictures=False, experiment=experiment, steps=2)
    asked = {"name": "shop", "source": f"experiment:{experiment.pk}", "model": "stub-judge"}
    estimate = page.post(
        "/knowledge/extract/", asked | {"estimate": "1"}, headers={"HX-Request": "true"}
    )
    assert "1 question" in estimate.content.decode()
    response = page.post("/knowledge/extract/", asked | {"start": "1"})
    job = LearningJob.objects.get()
    assert response.headers["Location"] == f"/learning/{job.pk}/"
    assert 'hx-trigger="every 1s"' in text(page, f"/learning/{job.pk}/")
    assert carry_out(job.pk)
    ended = text(page, f"/learning/{job.pk}/")
    assert "every 1s" not in ended
    assert "<dt>Entries</dt>" in ended


def test_a_job_is_cancelled_and_resumed(page: Client, model: LLMStub):
    experiment = make_experiment()
    make_run(pictures=False, experiment=experiment)
    asked = {"name": "shop", "source": f"experiment:{experiment.pk}", "model": "stub-judge"}
    page.post("/knowledge/extract/", asked | {"start": "1"})
    job = LearningJob.objects.get()
    page.post(f"/learning/{job.pk}/cancel/")
    job.refresh_from_db()
    assert job.state == LearningJob.State.CANCELLED
    page.post(f"/learning/{job.pk}/resume/", {"max_cost": "nonsense"})
    job.refresh_from_db()
    assert job.state == LearningJob.State.CANCELLED
    page.post(f"/learning/{job.pk}/resume/", {"max_cost": "2"})
    job.refresh_from_db()
    assert job.state == LearningJob.State.QUEUED
    assert job.max_cost == Decimal(2)


def test_without_a_model_the_form_says_what_to_do(page: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(settings.ENV, "MODELS_FILE", None)
    said = text(page, "/knowledge/extract/")
    assert "MODELS_FILE" in said
    assert "disabled" in said


@pytest.mark.slow
def test_queries_do_not_grow_with_sets_and_entries(page: Client, django_assert_max_num_queries):
    run = make_run(pictures=False)
    for number in range(1, 9):
        kept = made(run, version=number, content_hash=str(number) * 64)
        for place in range(1, 9):
            entry = kept.entries.create(position=place, intent=INTENT, ng="no")
            entry.sources.create(run=run)
    with django_assert_max_num_queries(25):
        text(page, f"/knowledge/?run={run.pk}")
    with django_assert_max_num_queries(35):
        text(page, f"/knowledge/{kept.pk}/")


@pytest.mark.slow
def test_a_link_to_an_entry_opens_the_page_it_is_on(page: Client):
    kept = made(make_run(pictures=False))
    kept.entries.bulk_create(
        KnowledgeEntry(knowledge_set=kept, position=place, intent=f"Want {place}", ng="no")
        for place in range(1, 61)
    )
    assert "Want 55" not in text(page, f"/knowledge/{kept.pk}/")
    assert 'id="entry-55"' in text(page, f"/knowledge/{kept.pk}/?at=55")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ({"given": 68, "left_out": [0] * 195, "budget_tokens": 6000}, "68 of 263 entries"),
        ({"given": 2, "left_out": [0], "budget_tokens": None, "room_tokens": 90}, "2 of 3 entries"),
        ({"given": 2, "left_out": ["0"], "budget_tokens": 6000}, ""),
        ({"given": 2, "left_out": [], "budget_tokens": "6000"}, ""),
        ({"given": "68", "left_out": [], "budget_tokens": 1}, ""),
        (["malformed"], ""),
    ],
)
def test_the_page_of_a_run_shows_how_much_was_given(page: Client, said: JsonValue, shown: str):
    content = {"set": "shop raw v1", "sha256": "0" * 64, "entries": []}
    agent = make_agent("generic", config={"model": "own", "knowledge": content})
    run = make_run(pictures=False, agent=agent, record={"extra": {"knowledge": said}})
    seen = text(page, f"/runs/{run.pk}/")
    assert "shop raw v1" in seen
    assert (" entries" in seen) == bool(shown)
    assert shown in seen


def test_the_entries_that_were_left_out_are_listed_and_read_by_programs(page: Client):
    kept = recount(made(make_run(pictures=False)))
    content = {"set": str(kept), "sha256": kept.content_hash, "entries": []}
    agent = make_agent("generic", config={"model": "own", "knowledge": content})
    said: dict[str, JsonValue] = {"given": 0, "left_out": [0, 7], "budget_tokens": 10}
    said["room_tokens"] = 10
    run = make_run(pictures=False, agent=agent, record={"extra": {"knowledge": said}})
    seen = text(page, f"/runs/{run.pk}/")
    assert 'Left out <span class="num">2</span>' in seen
    assert INTENT in seen
    assert knowledge_given(run) == Given(n=0, left_out=(0, 7), budget=10, room=10)


def test_the_whole_of_a_large_raw_set_is_offered_without_budget(page: Client, engineer: User):
    raw = made(make_run(pictures=False), n_tokens=23_000)
    line = json.loads(config_line(raw, engineer).removeprefix("generic:"))
    assert (line["knowledge"], line["knowledge_tokens"]) == ("shop shopping raw v1", None)


def test_knowledge_is_named_where_agents_are_put_into_words():
    content: dict[str, JsonValue] = {"set": "shop summarised v1", "entries": [], "top": 5}
    assert value_in_words(content | {"select": "all"}) == "shop summarised v1"
    assert value_in_words(content | {"select": "relevant"}) == "shop summarised v1, best 5"


def test_the_agent_that_ran_last_is_offered_with_the_set(page: Client, engineer: User):
    kept = made(make_run(pictures=False, agent=make_agent("oracle")))
    assert (
        config_line(kept, engineer)
        == 'generic:{"model": "…", "knowledge": "shop shopping raw v1", "knowledge_tokens": 6000}'
    )
    config = {
        "model": "own",
        "reply": "json",
        "examples": 1,
        "max_steps": 50,
        "hints": "of a trial",
    }
    make_run(pictures=False, agent=make_agent("generic", config=config))
    line = config_line(kept, engineer)
    assert json.loads(line.removeprefix("generic:")) == {
        "model": "own",
        "reply": "json",
        "knowledge": "shop shopping raw v1",
        "knowledge_tokens": 6000,
    }
    form = text(page, f"/experiments/new/?{urlencode({'agent': line})}")
    assert "shop shopping raw v1" in form


def test_numbers_that_no_row_has_are_none(page: Client):
    run = make_run(pictures=False)
    nines = "9" * 5000
    assert page.get(f"/knowledge/?experiment={nines}").status_code == 200
    assert page.get(f"/runs/{run.pk}/steps/?from={nines}").status_code == 404


@pytest.mark.slow
def test_editing_a_frozen_set_takes_as_many_queries_for_one_entry_as_for_many(
    page: Client, django_assert_max_num_queries
):
    run = make_run(pictures=False)
    kept = made(run, frozen_at=timezone.now())
    first = kept.entries.get()
    for place in range(1, 40):
        entry = kept.entries.create(position=place, intent=f"{INTENT} {place}", ng="no")
        entry.sources.create(run=run, steps=[place])
        entry.parents.add(first)
    words = {"intent": "Otherwise", "ok": "", "ng": "no"}
    with django_assert_max_num_queries(40):
        page.post(f"/knowledge/entries/{first.pk}/", words)
    made_of_it = KnowledgeSet.objects.get(version=2)
    copies = list(made_of_it.entries.order_by("position"))
    assert [row.position for row in copies] == list(range(40))
    assert copies[0].intent == "Otherwise"
    assert copies[7].sources.get().steps == [7]
    assert list(copies[7].parents.all()) == [first]
