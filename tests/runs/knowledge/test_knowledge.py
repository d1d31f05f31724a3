"""Web knowledge from recorded runs: extracted, summarised, edited, and given to agents."""

import json
from pathlib import Path
from uuid import UUID

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db.models import Q

from runs.catalogue.agents import store_agent
from runs.catalogue.language_models import model_registry
from runs.knowledge.learning import carry_out
from runs.knowledge.web.services import (
    LeakingEntryError,
    edit_entry,
    estimate_extraction,
    start_extraction,
    start_summary,
    switch_entry,
)
from runs.knowledge.web.sets import logs_of, runs_with, with_knowledge
from runs.launching.experiments.plans import read_agent
from runs.launching.experiments.selection import PlanError
from runs.models import KnowledgeEntry, KnowledgeSet, KnowledgeSource, LearningJob, Run
from runs.queue.paid_work import WorkRefusedError
from tests.judging.evaluating.asked_models import models_file
from tests.runs.factories import make_run, make_user
from tests.runs.knowledge.scribe import leaky_scribe, scribe
from tests.runs.storage.stores import use_store
from tests.webagent.llm.stub import LLMStub
from tests.webagent.pages import observation
from webagent.agents.generic.agent import GenericAgent
from webagent.agents.settings import AgentSettings
from webagent.knowledge.entries import Entry
from webagent.llm.client import Client

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql_only("slow, and alike on both")]
SAMPLES = Path(__file__).parent.parent.parent / "data" / "agentlab" / "scripted"
USED = ("*email-inbox_5", "*login-user_8")
State = LearningJob.State


@pytest.fixture
def model(llm_stub: LLMStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LLMStub:
    file = models_file(tmp_path, llm_stub.openai_url, at_a_time=1)
    monkeypatch.setattr(settings.ENV, "MODELS_FILE", file)
    monkeypatch.setattr("runs.queue.workers.current_app.send_task", lambda *a, **k: None)
    llm_stub.reply = scribe
    return llm_stub


@pytest.fixture
def recorded(settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[UUID]:
    """Real runs of scripted agents on MiniWoB++, one of which clicks on what is not there."""
    use_store(settings, tmp_path / "blobs")
    for pattern in USED:
        [folder] = SAMPLES.glob(pattern)
        call_command("import_runs", str(folder), "--json")
    capsys.readouterr()
    return list(Run.objects.order_by("pk").values_list("pk", flat=True))


def learned(runs: list[UUID], **more: object) -> LearningJob:
    job = start_extraction(name="mini", runs=runs, model="stub-judge", **more)  # type: ignore[arg-type]
    return done(job)


def done(job: LearningJob) -> LearningJob:
    assert carry_out(job.pk)
    job.refresh_from_db()
    assert job.state == State.FINISHED, job.problem
    return job


def raw_set() -> KnowledgeSet:
    return KnowledgeSet.objects.get(kind="raw")


def summarised() -> KnowledgeSet:
    return KnowledgeSet.objects.filter(kind="summarised").latest("version")


def test_recorded_runs_become_knowledge_that_an_agent_is_told(model: LLMStub, recorded):
    job = learned(recorded)
    raw = raw_set()
    assert job.n_total == len(recorded) == 2
    assert job.report["n_entries"] == raw.n_entries > 0
    assert job.report["n_without_ng"] > 0
    source = KnowledgeSource.objects.filter(entry__knowledge_set=raw).first()
    assert source is not None
    assert source.run.steps.filter(index__in=source.steps).count() == len(source.steps) > 0

    job = done(start_summary(knowledge_set=raw, model="stub-judge"))
    made = summarised()
    assert made.parent == raw
    assert (job.report["n_rejected"], job.report["n_uncovered"]) == (0, 0)
    assert 0 < made.n_entries < raw.n_entries
    assert made.n_tokens < raw.n_tokens
    told = {
        run for entry in made.entries.all() for run in entry.sources.values_list("run", flat=True)
    }
    assert told == set(raw.entries.values_list("sources__run", flat=True))

    record = read_agent(f'generic:{{"model": "stub-judge", "knowledge": "{made}"}}')
    model.reply = lambda asked: "<action>noop()</action>"
    with Client(model_registry()) as client:
        chosen = AgentSettings.model_validate(record.config)
        agent = GenericAgent(chosen, client, client.registry.entry("stub-judge"))
        agent.act(observation("RootWebArea 'Page'", goal="Log in."))
    for entry in made.entries.for_agents():
        assert entry.ng in model.asked[-1].system
    row = store_agent(record)
    run = make_run(agent=row)
    made.refresh_from_db()
    assert made.frozen_at is not None
    assert list(runs_with(made, make_user())) == [run]


def test_nothing_of_a_verdict_reaches_the_model(model: LLMStub, recorded):
    logs = list(logs_of(recorded))
    learned(recorded)
    asked = [each.text for each in model.asked]
    # Ended runs cannot be changed, so the same content is stored once more with other outcomes.
    twins = [_twin(Run.objects.get(pk=run_id)) for run_id in recorded]
    learned(twins)
    again = [each.text for each in model.asked[len(asked) :]]
    assert sorted(asked) == sorted(again)
    assert [log.steps for log in logs] == [log.steps for log in logs_of(twins)]


def _twin(run: Run) -> UUID:
    """The run with the opposite verdict."""
    steps = list(run.steps.order_by("index"))
    made = make_run(
        steps=0,
        task=run.task,
        goal=run.goal,
        n_steps=len(steps),
        outcome=Run.Outcome.FAILURE if run.outcome == "success" else Run.Outcome.SUCCESS,
        reward=0.0 if run.reward else 1.0,
        end_reason=Run.EndReason.MAX_STEPS,
    )
    for step in steps:
        step.pk, step.run = None, made
        step.record = step.record | {"reward": 1.0 - (step.reward or 0.0), "terminated": False}
        step.save(force_insert=True)
    return made.pk


def test_leaks_are_sent_back_and_left_out_if_they_stay(model: LLMStub, recorded):
    learned(recorded)
    model.reply = leaky_scribe
    job = done(start_summary(knowledge_set=raw_set(), model="stub-judge"))
    made = summarised()
    left_out = made.entries.filter(is_enabled=False)
    assert job.report["n_rejected"] == left_out.count() > 0
    assert job.report["n_redone"] > 0
    for entry in left_out:
        assert "an element's id" in entry.problem or "a value of the source" in entry.problem
        assert entry.intent not in " ".join(e.intent for e in made.entries.for_agents())


def test_a_summary_can_follow_by_itself(model: LLMStub, recorded):
    learned(recorded, then_summarise=True)
    following = LearningJob.objects.get(kind=LearningJob.Kind.SUMMARISE)
    assert following.state == State.QUEUED
    assert raw_set().frozen_at is not None
    done(following)
    assert summarised().n_entries > 0


def test_editing_a_frozen_set_makes_its_next_version(model: LLMStub, recorded):
    learned(recorded, then_summarise=True)
    done(LearningJob.objects.get(kind=LearningJob.Kind.SUMMARISE))
    user, first = make_user(), summarised()
    entry = first.entries.for_agents()[0]
    words = Entry(intent="Use a field", ok="Look first.", ng="Haste changes nothing.")
    assert edit_entry(entry=entry, words=words, user=user).knowledge_set == first
    store_agent(read_agent(f'generic:{{"model": "stub-judge", "knowledge": "{first}"}}'))
    changed = switch_entry(entry=entry, is_enabled=False, user=user)
    second = changed.knowledge_set
    assert (second.version, second.parent, second.frozen_at) == (2, first, None)
    assert second.n_entries == first.entries.for_agents().count() - 1
    assert changed.is_edited
    assert set(changed.sources.values_list("run", flat=True)) == set(
        entry.sources.values_list("run", flat=True)
    )
    assert set(changed.parents.all()) == set(entry.parents.all())
    first.refresh_from_db()
    snapshot = with_knowledge({"knowledge": str(first)})["knowledge"]
    assert isinstance(snapshot, dict)
    assert snapshot["sha256"] == first.content_hash


def test_a_person_cannot_write_a_leak_into_a_summary(model: LLMStub, recorded):
    learned(recorded, then_summarise=True)
    done(LearningJob.objects.get(kind=LearningJob.Kind.SUMMARISE))
    entry = summarised().entries.for_agents()[0]
    sources = list(entry.sources.values_list("run", flat=True))
    bid = next(bid for log in logs_of(sources) for step in log.steps for bid in step.bids)
    with pytest.raises(LeakingEntryError, match=bid):
        edit_entry(
            entry=entry,
            words=Entry(intent="Use a field", ng=f"The field {bid} does nothing."),
            user=make_user(),
        )
    raw = raw_set().entries.for_agents()[0]
    edited = edit_entry(entry=raw, words=Entry(intent="x", ng=f"{bid} fails"), user=make_user())
    assert edited.knowledge_set.version == 2


def test_what_was_left_out_comes_back_once_it_is_rewritten(model: LLMStub, recorded):
    learned(recorded)
    model.reply = leaky_scribe
    done(start_summary(knowledge_set=raw_set(), model="stub-judge"))
    entry = summarised().entries.filter(is_enabled=False)[0]
    with pytest.raises(LeakingEntryError):
        switch_entry(entry=entry, is_enabled=True, user=make_user())
    words = Entry(intent="Use a field", ng="Haste changes nothing.")
    again = edit_entry(entry=entry, words=words, user=make_user())
    assert (again.is_enabled, again.problem) == (True, "")


def test_the_estimate_is_more_than_what_it_takes(model: LLMStub, recorded):
    expected = estimate_extraction(runs=recorded, model="stub-judge")
    job = learned(recorded)
    assert expected.n_items == 2
    assert expected.cost is not None
    assert expected.cost > job.spent > 0
    assert job.estimate["cost"] == f"{expected.cost:f}"


def test_runs_without_steps_or_end_teach_nothing(model: LLMStub):
    waiting = make_run(status="queued", pictures=False)
    idle = make_run(steps=0)
    with pytest.raises(WorkRefusedError):
        start_extraction(name="none", runs=[waiting.pk, idle.pk], model="stub-judge")


def test_more_runs_than_are_learned_from_at_once_are_refused(
    model: LLMStub, recorded, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("runs.knowledge.web.services.MOST_RUNS", 1)
    with pytest.raises(WorkRefusedError, match="At most 1 runs at once; these are 2"):
        start_extraction(name="many", runs=recorded, model="stub-judge")


def test_a_set_that_is_not_there_is_said_with_those_that_are(model: LLMStub, recorded):
    learned(recorded)
    with pytest.raises(PlanError, match="mini miniwob raw v1"):
        read_agent('generic:{"model": "stub-judge", "knowledge": "nothing"}')
    select = json.dumps({"set": str(raw_set()), "select": "relevant", "top": 3})
    config = read_agent(f'generic:{{"model": "stub-judge", "knowledge": {select}}}').config
    chosen = AgentSettings.model_validate(config).knowledge
    assert chosen is not None
    assert (chosen.select, chosen.top) == ("relevant", 3)


def test_entries_of_runs_that_one_judges_are_not_shown(model: LLMStub, recorded, monkeypatch):
    learned(recorded)
    user = make_user()
    everything = KnowledgeEntry.objects.visible_to(user).count()
    hidden = recorded[0]

    class Policy:
        def visible(self, user: object) -> Q:
            return Q()

        def blind(self, user: object) -> Q:
            return Q(pk=hidden)

    monkeypatch.setattr("runs.models.knowledge.run_policy", Policy)
    shown = KnowledgeEntry.objects.visible_to(user)
    assert shown.count() == everything - KnowledgeEntry.objects.of_run(hidden).count()
    assert not shown.filter(sources__run=hidden).exists()


def test_the_command_extracts_and_summarises(model: LLMStub, recorded, capsys):
    arguments = ("--task-set", "miniwob", "--model", "stub-judge", "--name", "by hand")
    call_command("extract_knowledge", *arguments, "--summarise", "--json")
    extracted, summary = json.loads(capsys.readouterr().out)
    assert (extracted["n_runs"], extracted["problems"]) == (2, 0)
    assert summary["n_notes"] == extracted["n_entries"] > summary["n_entries"] > 0
    assert KnowledgeSet.objects.filter(name="by hand").count() == 2
    call_command("extract_knowledge", "--set", str(raw_set()), "--model", "stub-judge")
    assert summarised().version == 2
    with pytest.raises(CommandError, match="no raw set"):
        call_command("extract_knowledge", "--set", "nothing", "--model", "stub-judge")
