"""Pages of hints: written ones with their sources and uses, and the form of their experiment."""

import uuid
from html import unescape
from pathlib import Path

import pytest
from django.conf import settings
from django.db.models import ProtectedError
from django.test import Client
from django.urls import reverse
from django.utils.translation import override

from runs.interface.sentences import worded
from runs.knowledge.hints.of_runs import hint_records
from runs.knowledge.hints.writing import HintWriting, start_hint_writing
from runs.knowledge.learning import Learned, carry_out
from runs.launching.experiments.plans import MODEL
from runs.models import Experiment, Hint, LearningJob, Run
from runs.operations.space.retention import unkept
from tests.judging.analysis import audited
from tests.judging.factories import make_study
from tests.runs.factories import client_of
from tests.runs.knowledge.lever_world import base, hints_from, inhabited, successes
from tests.webagent.llm.stub import LLMStub
from webagent.knowledge.entries import Level
from webagent.knowledge.hints import HintWords
from webagent.llm.interface import LanguageModel
from webagent.llm.registry import Registry

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]

PERMISSIONS = ("runs.view_run", "runs.view_experiment", "runs.rerun_run", "judging.view_audit")
LAUNCH = {
    "name": "Hints or not",
    "task_set": "levers",
    "levels": list(Level),
    "relatednesses": ["same_task", "same_site_lowest"],
    "trials": 3,
    "seeds": "0-2",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with inhabited(tmp_path_factory.mktemp("levers")) as stub:
        yield stub


@pytest.fixture
def job(world) -> LearningJob:
    return hints_from(successes(), Level.CONCRETE, Level.INSIGHTS)


def engineer(name: str = "engineer") -> Client:
    return client_of(audited.person(name, *PERMISSIONS, "runs.view_hint", "runs.add_hint"))


def text(client: Client, name: str, *args: object) -> str:
    answer = client.get(reverse(name, args=args))
    assert answer.status_code == 200, answer
    return answer.content.decode()


def sent(client: Client, way: str, **more: object):
    agent = f"generic:{base().model_dump_json(include={'config'})[10:-1]}"
    data = LAUNCH | {"more_agents": agent, "token": uuid.uuid4(), way: "1"} | more
    return client.post(reverse("runs:hint_experiment_new"), data)


def test_a_job_shows_its_hints_by_source_and_each_hint_its_text(job: LearningJob) -> None:
    client = engineer()

    listed = text(client, "runs:hint_list")
    assert "imported reward" in listed
    assert "concrete procedure: 6, general insights: 6" in listed
    assert "spent</td>" in listed
    LearningJob.objects.update(spent=0)
    assert "spent</td>" not in text(client, "runs:hint_list")
    page = text(client, "runs:hint_job", job.pk)
    assert 'Sources <span class="badge count">6<' in page
    hint = Hint.objects.get(level="concrete", source__task__external_id="levers.rowan")
    shown = text(client, "runs:hint_detail", hint.pk)
    assert "Click &quot;rowan lever&quot;." in shown
    assert reverse("runs:run_detail", args=[hint.source_id]) in shown
    assert "Nothing yet" in shown


def test_a_run_leads_to_the_hints_that_came_from_it(job: LearningJob) -> None:
    run = Run.objects.get(task__external_id="levers.rowan")

    assert "2 hints" in text(engineer(), "runs:run_detail", run.pk)


def test_the_form_tells_what_it_takes_and_what_is_missing(job: LearningJob) -> None:
    levels = [Level.CONCRETE, Level.INSIGHTS]
    told = sent(engineer(), "estimate", job=job.pk, levels=levels).content.decode()

    assert "90 runs" in told  # 6 tasks × (4 + 1) × 3
    assert "0 tasks without a source" in told
    assert "tokens at every step" in told
    wrong = sent(engineer("two"), "estimate", job=job.pk).content.decode()
    assert "No task has a source" in wrong  # no abstract ones were written
    client = engineer("three")
    model = f"{MODEL}stub-judge"
    offered = text(client, "runs:hint_experiment_new")
    assert f'value="{model}"' in offered
    told = sent(client, "estimate", job=job.pk, levels=levels, more_agents="", agents=model)
    assert "90 runs" in told.content.decode()


def test_launching_makes_every_condition_once(job: LearningJob) -> None:
    client, token = engineer(), uuid.uuid4()
    wish = {"job": job.pk, "levels": [Level.CONCRETE], "token": token}

    first = sent(client, "launch", **wish)
    again = sent(client, "launch", **wish)

    experiment = Experiment.objects.get(name="Hints or not")
    assert first.status_code == again.status_code == 302
    assert first["Location"] == reverse("judging:hint_report", args=[experiment.pk])
    assert Run.objects.filter(experiment=experiment).count() == 6 * 3 * 3
    run = Run.objects.filter(experiment=experiment, agent__config__has_key="hints")[0]
    assert "with hint" in text(client, "runs:run_detail", run.pk)


def test_what_was_paid_before_a_kill_is_there_and_resuming_pays_only_the_rest(
    world: LLMStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, whole = successes(), HintWriting.learn

    def killed(self: HintWriting, job: LearningJob, key: str, model: LanguageModel) -> Learned:
        if key.startswith(str(runs[2].pk)):
            raise KeyboardInterrupt
        return whole(self, job, key, model)

    monkeypatch.setattr(HintWriting, "learn", killed)
    with pytest.raises(KeyboardInterrupt):
        hints_from(runs, Level.CONCRETE)
    job = LearningJob.objects.get()
    assert set(job.hints.values_list("source", flat=True)) == {run.pk for run in runs[:2]}
    asked = len(world.asked)
    LearningJob.objects.update(state=LearningJob.State.CANCELLED)
    monkeypatch.setattr(HintWriting, "learn", whole)

    client = engineer()
    assert reverse("runs:hint_job_resume", args=[job.pk]) in text(client, "runs:hint_job", job.pk)
    client.post(reverse("runs:hint_job_resume", args=[job.pk]), {"max_cost": ""})
    assert carry_out(job.pk)

    job.refresh_from_db()
    assert (job.state, job.report) == ("finished", {"hints": len(runs), "refused": 0})
    assert Hint.objects.count() == len(runs)
    assert len(world.asked) - asked == len(runs) - 2


def test_old_jobs_keep_their_pages(job: LearningJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.knowledge.hints.pages.MOST_JOBS", 0)
    client = engineer()

    assert str(job.pk) not in text(client, "runs:hint_list")
    assert 'Sources <span class="badge count">6<' in text(client, "runs:hint_job", job.pk)


def test_hints_are_as_hidden_as_the_outcome_of_their_source(job: LearningJob) -> None:
    viewer = audited.person("blind", *PERMISSIONS, "runs.view_hint")
    run = Run.objects.get(task__external_id="levers.rowan")
    make_study(runs=[run], annotators=[viewer])
    client = client_of(viewer)
    hint = Hint.objects.filter(source=run)[0]

    assert client.get(reverse("runs:hint_detail", args=[hint.pk])).status_code == 404
    assert client.get(reverse("runs:hint_job", args=[job.pk])).status_code == 404
    assert str(job.pk) not in text(client, "runs:hint_list")


def test_without_a_model_the_page_says_how_to_configure_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings.ENV, "MODELS_FILE", None)
    page = text(engineer(), "judging:hint_write")
    assert "MODELS_FILE" in page
    assert "This field is required" not in page
    assert 'id="sources"' not in page
    example = unescape(page.split("<pre", 1)[1].split(">", 1)[1].split("</pre>")[0])
    file = tmp_path / "models.toml"
    file.write_text(example)
    [entry] = Registry.read(file).entries.values()
    assert entry.api_key_env == "OPENAI_API_KEY"


def test_writing_starts_from_the_runs_that_a_named_source_calls_successes(world) -> None:
    runs = successes()
    client = engineer()
    data = {"verdict": "reward", "levels": [Level.CONCRETE], "model": "stub-judge"}
    address = reverse("judging:hint_write")

    told = client.post(address, data | {"estimate": "1"}).content.decode()
    none = client.post(address, data | {"verdict": "reference", "estimate": "1"}).content.decode()
    lacking = client.post(address, data | {"model": "", "estimate": "1"}).content.decode()
    started = client.post(address, data | {"start": "1"})

    assert "6 runs" in told
    assert "None of these runs succeeded by the reference verdict" in none
    assert "Language model: This field is required." in lacking
    job = LearningJob.objects.get()
    assert started["Location"] == reverse("runs:hint_job", args=[job.pk])
    assert set(job.params["runs"]) == {str(run.pk) for run in runs}
    assert (job.params["verdict"], job.params["verdict_name"]) == ("reward", "imported reward")


def test_who_says_success_is_told_in_the_readers_language(world) -> None:
    successes()
    client = engineer()
    japanese = {"Accept-Language": "ja"}
    data = {"verdict": "reward", "levels": [Level.CONCRETE], "model": "stub-judge", "start": "1"}
    client.post(reverse("judging:hint_write"), data, headers=japanese)

    job = LearningJob.objects.get()
    assert job.params["verdict_name"] == "imported reward"
    told = [
        client.get(reverse(*to), headers=japanese).content.decode()
        for to in (("runs:hint_list",), ("runs:hint_job", None, [job.pk]))
    ]
    assert all("取り込んだ報酬" in page and "imported reward" not in page for page in told)
    assert "成功とは" in told[1]
    with override("ja"):
        assert worded("evaluator strict 1 (ours)") == "評価器 strict 1 (ours)"


def test_every_source_of_a_hint_hides_it_and_is_kept_for_it(world: LLMStub) -> None:
    first, further = successes(), successes()
    with_more = {one.pk: [other.pk] for one, other in zip(first, further, strict=True)}
    own = HintWords(name="coach", concrete="Write down what to do.")
    job = start_hint_writing(
        model="stub-judge",
        run_ids=list(with_more),
        levels=[Level.CONCRETE],
        verdict="reward",
        verdict_name="imported reward",
        verdict_rule="",
        further=with_more,
        wording=own,
        is_told=True,
    )
    assert carry_out(job.pk)
    hint = Hint.objects.filter(source=first[0]).get()
    assert [each.run_id for each in hint.further.all()] == [further[0].pk]
    client = engineer()
    page = text(client, "runs:hint_job", job.pk)
    assert "coach" in page
    assert "Write down what to do." in page
    assert reverse("runs:run_detail", args=[further[0].pk]) in text(
        client, "runs:hint_detail", hint.pk
    )
    with pytest.raises(ProtectedError):
        further[0].delete()
    assert not unkept(Run.objects.filter(pk=further[0].pk)).exists()
    # A hint never tells a run its own solution.
    viewer = audited.person("blind", *PERMISSIONS, "runs.view_hint")
    make_study(runs=[further[0]], annotators=[viewer])
    blind = client_of(viewer)
    assert blind.get(reverse("runs:hint_detail", args=[hint.pk])).status_code == 404
    assert blind.get(reverse("runs:hint_job", args=[job.pk])).status_code == 404
    # It goes out with its first source, and names the other one.
    [record] = hint_records([first[0].pk])[first[0].pk]
    assert record.further_runs == (str(further[0].pk),)
    assert record.job.wording == {"name": "coach", "concrete": "Write down what to do."}
