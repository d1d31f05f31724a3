"""The pages of batches: start, watch, cancel, resume, and who may do so."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from judging.evaluating.evaluating import Again, carry_out, evaluate_study, version_of
from judging.evaluating.services import start_batch
from judging.evaluators.matchers import MatcherEvaluator
from judging.evaluators.matching.pipeline import build_matcher
from judging.evaluators.matching.repaired.rules import ALL_RULES
from judging.evaluators.registry import evaluator_named
from judging.models import Evaluation, EvaluationBatch, StudyMember
from runs.models import Run
from tests.judging.analysis import audited
from tests.judging.evaluating.asked_models import models_file
from tests.runs.factories import client_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
]

State = EvaluationBatch.State
FRAGMENT = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.queue.workers.current_app.send_task", lambda *a, **k: None)


@pytest.fixture
def a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model is described; nobody listens at its address."""
    file = models_file(tmp_path, "http://127.0.0.1:9/v1")
    monkeypatch.setattr(settings.ENV, "MODELS_FILE", file)
    monkeypatch.setattr(settings.ENV, "JUDGE_MODEL", "stub-judge")


@pytest.fixture
def world() -> audited.Audited:
    made = audited.study()
    for number in range(3):
        spec = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "42"}}
        of = audited.task(f"task {number}", spec=spec)
        made.add("success", of=audited.run(of, final_answer=f"So {number}", reward=1.0))
    return made


def address(name: str, *arguments: Any) -> str:
    return reverse(f"judging:{name}", args=arguments)


def send(client: Client, path: str, *evaluators: str, **wish: Any) -> Any:
    data = {"evaluators": evaluators, "again": "never", "start": "1", **wish}
    return client.post(path, data)


def page(client: Client, path: str, **headers: str) -> str:
    answer = client.get(path, headers=headers)
    assert answer.status_code == 200
    text: str = answer.content.decode()
    return text


class TestStarting:
    def test_one_batch_for_each_evaluator(self, world: audited.Audited) -> None:
        client = client_of(audited.auditor())
        path = address("audit_evaluate", world.study.pk)
        answer = send(client, path, "imported-reward", "webarena-strict", limit="2")
        assert answer["Location"] == address("batch_list")
        batches = EvaluationBatch.objects.order_by("evaluator__name")
        assert [(batch.evaluator.name, batch.limit) for batch in batches] == [
            ("imported-reward", 2),
            ("webarena-strict", 2),
        ]
        for batch in batches:
            assert carry_out(batch.pk)
        assert Evaluation.objects.count() == 4

    def test_selection_of_the_runs_table(self, world: audited.Audited) -> None:
        client = client_of(audited.auditor())
        runs = [str(item.run_id) for item in world.items[:2]]
        path = address("runs_evaluate")
        asked = client.post(path, {"run": runs})
        assert asked.status_code == 200
        for run_id in runs:
            assert f'name="run" value="{run_id}"' in asked.content.decode()
        answer = send(client, path, "imported-reward", run=runs)
        batch = EvaluationBatch.objects.get()
        assert answer["Location"] == address("batch_detail", batch.pk)
        assert batch.items.count() == batch.n_total == 2

    def test_run_on_which_one_is_blind_is_left_out(self, world: audited.Audited) -> None:
        user = audited.auditor()
        other = audited.study("Being judged")
        hidden = other.add(of=audited.run(reward=0.0))
        audited.member(other.study, user)
        runs = [str(hidden.run_id), str(world.items[0].run_id)]
        send(client_of(user), address("runs_evaluate"), "imported-reward", run=runs)
        assert EvaluationBatch.objects.get().items.get().run_id == world.items[0].run_id
        alone = client_of(user).post(address("runs_evaluate"), {"run": runs[:1]})
        assert alone["Location"] == reverse("runs:run_list")

    def test_nothing_left_starts_nothing(self, world: audited.Audited) -> None:
        evaluate_study(world.study, evaluator_named("imported-reward"))
        path = address("audit_evaluate", world.study.pk)
        answer = send(client_of(audited.auditor()), path, "webarena-strict", "imported-reward")
        assert answer.status_code == 422
        assert "imported-reward has no run left to evaluate" in answer.content.decode()
        assert not EvaluationBatch.objects.exists()

    @pytest.mark.parametrize(
        "wish", [{"limit": "0"}, {"again": "maybe"}, {"evaluators": ["no-such"]}]
    )
    def test_form_that_makes_no_sense(self, world: audited.Audited, wish: dict[str, Any]) -> None:
        path = address("audit_evaluate", world.study.pk)
        wish = {"evaluators": ["imported-reward"], "again": "never", "start": "1", **wish}
        assert client_of(audited.auditor()).post(path, wish).status_code == 422
        assert not EvaluationBatch.objects.exists()

    def test_without_a_model_judges_are_not_offered_and_the_page_says_how(
        self, world: audited.Audited
    ) -> None:
        client, path = client_of(audited.auditor()), address("audit_evaluate", world.study.pk)
        text = page(client, path)
        assert "MODELS_FILE" in text
        assert "two-stage-judge" not in text
        assert 'name="model"' not in text
        assert send(client, path, "two-stage-judge").status_code == 422

    def test_model_without_its_key_is_named(
        self, world: audited.Audited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = models_file(tmp_path, "http://127.0.0.1:9/v1", prices='api_key_env = "UNSET_KEY"')
        monkeypatch.setattr(settings.ENV, "MODELS_FILE", file)
        text = page(client_of(audited.auditor()), address("audit_evaluate", world.study.pk))
        assert "UNSET_KEY" in text

    def test_file_of_models_that_is_wrong_is_said(
        self, world: audited.Audited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "wrong.toml").write_text("[models.x]\nprovider = 'nobody'\n")
        monkeypatch.setattr(settings.ENV, "MODELS_FILE", tmp_path / "wrong.toml")
        text = page(client_of(audited.auditor()), address("audit_evaluate", world.study.pk))
        assert "models.x" in text

    @pytest.mark.usefixtures("a_model")
    def test_estimate_before_the_start(self, world: audited.Audited) -> None:
        path = address("audit_evaluate", world.study.pk)
        wish = {"evaluators": ["after", "webarena-strict"], "again": "never", "estimate": "1"}
        wish["model"] = "stub-judge"
        answer = client_of(audited.auditor()).post(path, wish, headers=FRAGMENT)
        text = answer.content.decode()
        assert "3 runs, the model is asked for about 3 of them" in text
        assert "at most about $" in text
        assert "no language model is asked, at no cost" in text
        assert not EvaluationBatch.objects.exists()

    @pytest.mark.usefixtures("a_model")
    def test_batch_keeps_its_limit_and_its_estimate(self, world: audited.Audited) -> None:
        path = address("audit_evaluate", world.study.pk)
        send(client_of(audited.auditor()), path, "after", model="stub-judge", max_cost="1.50")
        batch = EvaluationBatch.objects.get()
        assert (batch.max_cost, batch.model) == (Decimal("1.5"), "stub-judge")
        assert Decimal(batch.estimate["cost"]) > 0
        assert batch.estimate["n_runs"] == 3

    @pytest.mark.usefixtures("a_model")
    def test_saved_version_is_offered_and_keeps_its_model(self, world: audited.Audited) -> None:
        saved = version_of(evaluator_named("after", model="of-last-year"))
        predefined = version_of(evaluator_named("after"))
        client, path = client_of(audited.auditor()), address("audit_evaluate", world.study.pk)
        text = page(client, path)
        assert f"version-{saved.pk}" not in text  # predefined, but for the model
        assert f"version-{predefined.pk}" not in text
        matcher = evaluator_of_rules_off()
        text = page(client, path)
        assert f"version-{matcher.pk}" in text


def evaluator_of_rules_off() -> Any:
    """A matcher with a rule switched off, as what-if saves it."""
    off = sorted(rule.value for rule in ALL_RULES)[:1]
    return version_of(MatcherEvaluator(build_matcher("webarena-repaired", {"off": off})))


class TestWatching:
    def test_moving_batch_asks_again_and_an_ended_one_does_not(
        self, world: audited.Audited
    ) -> None:
        client = client_of(audited.auditor())
        batch = start_batch(evaluator=evaluator_named("imported-reward"), study=world.study)
        for path in (address("batch_list"), address("batch_detail", batch.pk)):
            assert "every " in page(client, path, **FRAGMENT)
        assert carry_out(batch.pk)
        for path in (address("batch_list"), address("batch_detail", batch.pk)):
            text = page(client, path, **FRAGMENT)
            assert "every " not in text
            assert "3 of 3" in text
            assert "<html" not in text

    def test_top_bar_counts_the_batches_that_one_asked_for(self, world: audited.Audited) -> None:
        user = audited.auditor()
        evaluator = evaluator_named("imported-reward")
        batch = start_batch(evaluator=evaluator, study=world.study, user=user)
        start_batch(evaluator=evaluator, study=world.study)
        client = client_of(user)
        assert ">1</span>" in page(client, reverse("runs:job_count"))
        assert address("batch_detail", batch.pk) in page(client, reverse("runs:job_drawer"))

    def test_errors_are_listed_with_their_runs(self, world: audited.Audited) -> None:
        world.add(of=audited.run(reward=None, outcome="error"))
        batch = start_batch(evaluator=evaluator_named("imported-reward"), study=world.study)
        assert carry_out(batch.pk)
        text = page(client_of(audited.auditor()), address("batch_detail", batch.pk))
        assert "the run ended in an error" in text
        assert reverse("runs:run_detail", args=[world.items[-1].run_id]) in text

    def test_queries_do_not_grow_with_the_batches(
        self, world: audited.Audited, django_assert_max_num_queries: Any
    ) -> None:
        client = client_of(audited.auditor())
        for _ in range(12):
            start_batch(
                evaluator=evaluator_named("imported-reward"), study=world.study, again=Again.ALL
            )
        with django_assert_max_num_queries(8):
            page(client, address("batch_list"), **FRAGMENT)

    def test_list_of_one_study(self, world: audited.Audited) -> None:
        start_batch(evaluator=evaluator_named("imported-reward"), study=world.study)
        other = audited.study("Other")
        client = client_of(audited.auditor())
        assert "imported-reward" in page(client, f"{address('batch_list')}?study={world.study.pk}")
        assert "No batches yet" in page(client, f"{address('batch_list')}?study={other.study.pk}")

    @pytest.mark.parametrize("number", ["none", "9" * 30])
    def test_study_that_is_no_number_filters_nothing(
        self, world: audited.Audited, number: str
    ) -> None:
        start_batch(evaluator=evaluator_named("imported-reward"), study=world.study)
        assert "imported-reward" in page(
            client_of(audited.auditor()), f"{address('batch_list')}?study={number}"
        )


class TestCancelAndResume:
    def test_cancel_then_resume(self, world: audited.Audited) -> None:
        client = client_of(audited.auditor())
        batch = start_batch(evaluator=evaluator_named("imported-reward"), study=world.study)
        client.post(address("batch_cancel", batch.pk))
        batch.refresh_from_db()
        assert batch.state == State.CANCELLED
        client.post(address("batch_resume", batch.pk))
        batch.refresh_from_db()
        assert batch.state == State.QUEUED
        assert carry_out(batch.pk)
        assert "Nothing to resume" in (
            client.post(address("batch_resume", batch.pk), follow=True).content.decode()
        )

    @pytest.mark.usefixtures("a_model")
    def test_spent_budget_wants_a_higher_limit(self, world: audited.Audited) -> None:
        client = client_of(audited.auditor())
        batch = start_batch(
            evaluator=evaluator_named("after"), study=world.study, max_cost=Decimal(1)
        )
        ended = {"state": State.STOPPED_BY_BUDGET, "spent": Decimal(1), "n_total": 3}
        EvaluationBatch.objects.filter(pk=batch.pk).update(**ended)
        path = address("batch_resume", batch.pk)
        text = page(client, address("batch_detail", batch.pk))
        assert "3 runs were not evaluated" in text
        assert 'value="2.00"' in text
        said = client.post(path, follow=True).content.decode()
        assert "raise the cost limit to continue" in said
        client.post(path, {"max_cost": "0.001"})
        batch.refresh_from_db()
        assert batch.state == State.STOPPED_BY_BUDGET
        client.post(path, {"max_cost": "2"})
        batch.refresh_from_db()
        assert batch.state == State.QUEUED
        assert batch.max_cost == Decimal(2)


class TestWhoMay:
    def test_reader_may_look_and_do_nothing(self, world: audited.Audited) -> None:
        reader = audited.person("reader", "judging.view_audit", "runs.view_run")
        batch = start_batch(evaluator=evaluator_named("imported-reward"), study=world.study)
        client = client_of(reader)
        text = page(client, address("batch_detail", batch.pk))
        assert address("batch_cancel", batch.pk) not in text
        for path in (
            address("audit_evaluate", world.study.pk),
            address("batch_cancel", batch.pk),
            address("batch_resume", batch.pk),
            address("runs_evaluate"),
        ):
            assert client.post(path, {"run": []}).status_code == 403

    @pytest.mark.parametrize("part", StudyMember.Part.values)
    def test_batch_over_a_run_on_which_one_is_blind_is_not_there(
        self, world: audited.Audited, part: str
    ) -> None:
        batch = start_batch(
            evaluator=evaluator_named("imported-reward"),
            run_ids=[item.run_id for item in world.items],
        )
        user = audited.auditor()
        other = audited.study("Being judged")
        other.add(of=Run.objects.get(pk=world.items[0].run_id))
        audited.member(other.study, user, part)
        client = client_of(user)
        assert client.get(address("batch_detail", batch.pk)).status_code == 404
        assert client.post(address("batch_cancel", batch.pk)).status_code == 404
        assert "No batches yet" in page(client, address("batch_list"))

    def test_others_may_not(self, world: audited.Audited) -> None:
        client = client_of(audited.person("stranger"))
        for path in (address("batch_list"), address("audit_evaluate", world.study.pk)):
            assert client.get(path).status_code == 403


def test_history_of_a_version_stands_beside_the_run(world: audited.Audited) -> None:
    run, version = world.items[0].run, version_of(evaluator_named("imported-reward"))
    for is_current in (False, False, True):
        audited.evaluation(run, version, "passed", is_current=is_current)
    text = page(client_of(audited.auditor()), address("run_judgements", run.pk), **FRAGMENT)
    assert "2 earlier evaluations" in text
