"""Evaluation batches: resumed, limited, cancelled, and never made twice."""

from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from judging.evaluating.evaluating import Again, carry_out, version_of
from judging.evaluating.replies import StoredReplies
from judging.evaluating.services import cancel_batch, estimate_batch, resume_batch, start_batch
from judging.evaluating.tasks import dispatch_batches, evaluate_batch, sweep_batches
from judging.evaluators.registry import NoModelConfiguredError, evaluator_named, evaluator_of
from judging.models import Evaluation, EvaluationBatch, JudgeReply
from runs.models import Run, TaskSet
from runs.queue.paid_work import Watcher, WorkRefusedError
from tests.judging.analysis import audited
from tests.judging.evaluating.asked_models import always, judge_says, models_file
from tests.webagent.llm.stub import LLMStub, fail
from webagent.llm.interface import Reply, Usage

# Judges work in threads, each with a connection of its own.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.sqlite_only("test_batch_workers.py works through batches on PostgreSQL"),
]

State = EvaluationBatch.State
JUDGE = "two-stage-judge"


def spec(reference: str = "forty-two") -> dict[str, Any]:
    return {"eval_types": ["string_match"], "reference_answers": {"exact_match": reference}}


def asked_study(n: int = 6, answer: str = "It is forty-two, number {}.") -> audited.Audited:
    """A study whose runs the strict matcher fails, each with an answer of its own."""
    world = audited.study()
    for number in range(n):
        of = audited.task(f"question {number}", spec=spec())
        world.add(of=audited.run(of, final_answer=answer.format(number), reward=1.0))
    return world


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The messages to workers: (batch, queue)."""
    messages: list[tuple[str, str]] = []
    monkeypatch.setattr(
        "runs.queue.workers.current_app.send_task",
        lambda name, args, retry, queue: messages.append((*args, queue)),
    )
    return messages


@pytest.fixture(autouse=True)
def no_worker(told: list[tuple[str, str]]) -> None:
    """Nothing is sent to a real broker."""


@pytest.fixture
def judge(llm_stub: LLMStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LLMStub:
    """A model that says yes to everything, four requests at a time."""
    monkeypatch.setattr(settings.ENV, "MODELS_FILE", models_file(tmp_path, llm_stub.openai_url))
    monkeypatch.setattr(settings.ENV, "JUDGE_MODEL", "stub-judge")
    llm_stub.reply = always(True)
    return llm_stub


def batch_of(world: audited.Audited, name: str = JUDGE, **options: Any) -> EvaluationBatch:
    return start_batch(evaluator=evaluator_named(name), study=world.study, **options)


def done(batch: EvaluationBatch) -> EvaluationBatch:
    """The batch after a worker has taken it up."""
    assert carry_out(batch.pk)
    batch.refresh_from_db()
    return batch


def counts(batch: EvaluationBatch) -> dict[str, int]:
    return {
        word: getattr(batch, f"n_{word}")
        for word in ("total", "done", "passed", "failed", "error", "not_applicable", "already")
        if getattr(batch, f"n_{word}")
    }


# Without a model


def test_evaluator_without_a_model_goes_in_one_piece(told: list[tuple[str, str]]) -> None:
    world = asked_study()
    batch = batch_of(world, "imported-reward")
    assert told == [(str(batch.pk), "default")]
    done(batch)
    assert batch.state == State.FINISHED
    assert batch.spent == Decimal(0)
    assert counts(batch) == {"total": 6, "done": 6, "passed": 6}
    assert Evaluation.objects.filter(batch=batch, is_current=True).count() == 6
    assert {said.task for said in Evaluation.objects.all()} == {
        item.run.task for item in world.items
    }


def test_message_delivered_twice_is_harmless() -> None:
    world = asked_study()
    batch = batch_of(world, "imported-reward")
    for _ in range(3):
        evaluate_batch(str(batch.pk))
    batch.refresh_from_db()
    assert (batch.state, batch.lease_token) == (State.FINISHED, 1)
    assert Evaluation.objects.count() == 6


def test_selection_is_only_its_runs() -> None:
    world = asked_study()
    chosen = [item.run_id for item in world.items[:2]]
    batch = done(start_batch(evaluator=evaluator_named("imported-reward"), run_ids=chosen))
    assert counts(batch) == {"total": 2, "done": 2, "passed": 2}
    assert set(Evaluation.objects.values_list("run_id", flat=True)) == set(chosen)


def test_double_click_starts_one_batch() -> None:
    world = asked_study(4)
    user = audited.auditor()
    runs = [item.run_id for item in world.items]
    evaluator = evaluator_named("imported-reward")
    first = start_batch(evaluator=evaluator, study=world.study, user=user)
    assert start_batch(evaluator=evaluator, study=world.study, user=user) == first
    assert start_batch(evaluator=evaluator, study=world.study, user=user, limit=1) != first
    assert start_batch(evaluator=evaluator, study=world.study, user=audited.auditor("x")) != first
    some = start_batch(evaluator=evaluator, run_ids=runs[:2], user=user)
    assert start_batch(evaluator=evaluator, run_ids=runs[:2], user=user) == some
    assert start_batch(evaluator=evaluator, run_ids=runs, user=user) != some


def test_run_that_somebody_else_evaluated_meanwhile_keeps_that() -> None:
    world = asked_study(2)
    run_ids = [item.run_id for item in world.items]
    evaluator = evaluator_named("imported-reward")
    batch = start_batch(evaluator=evaluator, run_ids=run_ids)
    theirs = audited.evaluation(world.items[0].run, version_of(evaluator), "failed")
    done(batch)
    assert counts(batch) == {"total": 2, "done": 2, "passed": 1, "already": 1}
    assert Evaluation.objects.get(run=world.items[0].run) == theirs


def test_replacing_appends_and_keeps_the_old_ones() -> None:
    world = asked_study(3)
    world.add(of=audited.run(reward=None))
    done(batch_of(world, "imported-reward"))
    assert counts(done(batch_of(world, "imported-reward"))) == {}
    unanswered = done(batch_of(world, "imported-reward", again=Again.NO_VERDICT))
    assert counts(unanswered) == {"total": 1, "done": 1, "not_applicable": 1}
    done(batch_of(world, "imported-reward", again=Again.ALL))
    assert Evaluation.objects.count() == 4 + 1 + 4
    assert Evaluation.objects.filter(is_current=True).count() == 4


def test_evaluator_that_breaks_on_a_run_stops_no_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    world = asked_study(3)
    broken = world.items[1].run_id

    def evaluate(self: Any, run: Run) -> Any:
        if run.pk == broken:
            raise ZeroDivisionError("one over nothing")
        return whole(self, run)

    whole = type(evaluator_named("imported-reward")).evaluate
    monkeypatch.setattr(type(evaluator_named("imported-reward")), "evaluate", evaluate)
    batch = done(batch_of(world, "imported-reward"))
    assert batch.state == State.FINISHED
    assert counts(batch) == {"total": 3, "done": 3, "passed": 2, "error": 1}
    said = Evaluation.objects.get(run=broken)
    assert said.reason == "the evaluator broke on this run"
    assert said.details["error"] == "ZeroDivisionError: one over nothing"


def test_batch_of_a_version_that_is_gone_says_so() -> None:
    batch = EvaluationBatch.objects.create(evaluator=audited.evaluator("long-gone"), n_total=0)
    done(batch)
    assert batch.state == State.FAILED
    assert "cannot be run here" in batch.problem


# With a model


def test_judge_over_http_with_all_that_it_took(judge: LLMStub, told: list[Any]) -> None:
    batch = batch_of(asked_study())
    assert told == [(str(batch.pk), "judge")]
    done(batch)
    assert (batch.state, counts(batch)) == (State.FINISHED, {"total": 6, "done": 6, "passed": 6})
    said = Evaluation.objects.all()[0]
    [stage] = said.details["stages"]
    assert stage["model"] == "stub-1-as-served"
    assert (stage["input_tokens"] > 0, stage["prompt_hash"] != "") == (True, True)
    assert said.cost == Decimal(stage["cost"]).quantize(Decimal("0.000001"))
    costs = [Decimal(row.details["stages"][0]["cost"]) for row in Evaluation.objects.all()]
    total = sum(costs, Decimal(0))
    assert batch.spent == total.quantize(Decimal("0.000001"))
    assert judge.most_at_once <= 4
    assert len(judge.asked) == JudgeReply.objects.count() == 6


def test_same_questions_are_paid_once(judge: LLMStub) -> None:
    world = asked_study()
    done(batch_of(world))
    after = done(batch_of(world, "after"))
    assert after.n_passed == 6
    assert after.spent == Decimal(0)
    assert len(judge.asked) == 6
    stages = [said.details["stages"] for said in after.evaluations.all()]
    assert all(stage[0]["is_cached"] and stage[0]["cost"] == "0" for stage in stages if stage)


def test_asking_again_has_the_model_asked_anew(judge: LLMStub) -> None:
    world = asked_study(2)
    done(batch_of(world))
    judge.reply = always(False)
    again = done(batch_of(world, again=Again.ALL))
    assert (again.n_failed, again.spent > 0) == (2, True)
    assert len(judge.asked) == 2 + 4  # both stages, now that the first says no


def test_errors_are_asked_again_alone(judge: LLMStub) -> None:
    world = asked_study(3)
    judge.reply = lambda asked: (
        "not JSON" if "number 1" in asked.messages[0][1] else judge_says(True)
    )
    first = done(batch_of(world))
    assert counts(first) == {"total": 3, "done": 3, "passed": 2, "error": 1}
    judge.reply = always(True)
    second = done(batch_of(world, again=Again.NO_VERDICT))
    assert counts(second) == {"total": 1, "done": 1, "passed": 1}
    assert not Evaluation.objects.filter(is_current=True, verdict="error").exists()


def test_limit_of_costs_leaves_the_rest_not_evaluated(judge: LLMStub) -> None:
    world = asked_study(30)
    one = done(batch_of(world, limit=1)).spent
    batch = done(batch_of(world, max_cost=one * 20))
    assert batch.state == State.STOPPED_BY_BUDGET
    assert 0 < batch.n_done < 29
    assert 0 < batch.spent <= one * 20
    assert not Evaluation.objects.filter(verdict="error").exists()
    with pytest.raises(WorkRefusedError, match="raise the cost limit"):
        resume_batch(batch=batch, max_cost=batch.spent)
    asked = len(judge.asked)
    assert resume_batch(batch=batch, max_cost=Decimal(10))
    done(batch)
    assert (batch.state, batch.n_done, batch.n_passed) == (State.FINISHED, 29, 29)
    assert len(judge.asked) - asked == 29 - (asked - 1)  # nothing is asked a second time


def test_limit_without_prices_is_refused(
    judge: LLMStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        settings.ENV, "MODELS_FILE", models_file(tmp_path, judge.openai_url, prices="")
    )
    world = asked_study(2)
    with pytest.raises(WorkRefusedError, match="price of stub-judge is unknown"):
        batch_of(world, max_cost=Decimal(5))
    batch = done(batch_of(world))
    assert batch.state == State.FINISHED
    assert batch.spent == Decimal(0)
    assert batch.n_unpriced == 2
    expected = estimate_batch(evaluator_named(JUDGE), study=world.study, again=Again.ALL)
    assert (expected.n_asking, expected.cost) == (2, None)


def test_cancelled_batch_keeps_what_is_done_and_goes_on_from_there(judge: LLMStub) -> None:
    world = asked_study(40)
    batch = batch_of(world)
    judge.latency = 0.05
    seen = []

    def cancel_soon(at: EvaluationBatch) -> None:
        seen.append(at.n_done)
        cancel_batch(batch=at)

    carry_out(batch.pk, Watcher(on_progress=cancel_soon))
    batch.refresh_from_db()
    assert batch.state == State.CANCELLED
    assert 0 < batch.n_done < 40
    assert batch.n_done == batch.evaluations.count() == len(judge.asked)
    assert resume_batch(batch=batch)
    judge.latency = 0
    done(batch)
    assert (batch.state, batch.n_passed) == (State.FINISHED, 40)
    assert len(judge.asked) == 40


def test_interrupted_batch_ends_after_what_is_under_way(judge: LLMStub) -> None:
    world = asked_study(40)
    batch = batch_of(world)
    judge.latency = 0.02
    seen: list[int] = []
    watcher = Watcher[EvaluationBatch](
        on_progress=lambda at: seen.append(at.n_done), is_interrupted=lambda: bool(seen)
    )
    carry_out(batch.pk, watcher)
    batch.refresh_from_db()
    assert batch.state == State.CANCELLED
    assert batch.n_done == batch.evaluations.count() == len(judge.asked) < 40


def test_cancelling_a_waiting_batch_ends_it(judge: LLMStub) -> None:
    batch = batch_of(asked_study(1))
    assert cancel_batch(batch=batch)
    batch.refresh_from_db()
    assert batch.state == State.CANCELLED
    assert not carry_out(batch.pk)
    assert not cancel_batch(batch=batch)


def test_wrong_key_stops_the_batch_and_blames_no_run(judge: LLMStub) -> None:
    judge.queue(*[fail(401, "no such key")] * 50)
    batch = done(batch_of(asked_study(10)))
    assert batch.state == State.FAILED
    assert batch.problem
    assert (batch.n_done, Evaluation.objects.count()) == (0, 0)


def test_model_without_a_key_is_refused_before_the_batch(
    judge: LLMStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = models_file(tmp_path, judge.openai_url, prices='api_key_env = "NOBODY_SET_THIS"')
    monkeypatch.setattr(settings.ENV, "MODELS_FILE", file)
    with pytest.raises(WorkRefusedError, match="NOBODY_SET_THIS"):
        batch_of(asked_study(1))
    monkeypatch.setattr(settings.ENV, "JUDGE_MODEL", None)
    with pytest.raises(NoModelConfiguredError, match="JUDGE_MODEL"):
        evaluator_named(JUDGE)


def test_one_batch_at_a_time_asks_a_model(judge: LLMStub, told: list[tuple[str, str]]) -> None:
    world = asked_study(2)
    first, second = batch_of(world), batch_of(world, "after")
    held = EvaluationBatch.objects.claim(first.pk, lease_s=60)
    assert held is not None
    evaluate_batch(str(second.pk))
    second.refresh_from_db()
    assert second.state == State.QUEUED
    EvaluationBatch.objects.hand_back(first.pk, held.lease_token)
    told.clear()
    evaluate_batch(str(first.pk))
    assert told == [(str(second.pk), "judge")]  # the one that waited is told at once
    assert done(second).state == State.FINISHED


# The queue


def test_batch_of_a_dead_worker_is_told_of_again(
    judge: LLMStub, told: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = batch_of(asked_study(3))
    EvaluationBatch.objects.claim(batch.pk, lease_s=-1)
    EvaluationBatch.objects.update(dispatched_at=None)
    told.clear()
    sweep_batches()
    dispatch_batches()
    assert told == [(str(batch.pk), "judge")]
    assert done(batch).n_passed == 3


def test_batch_that_always_kills_its_worker_is_given_up() -> None:
    batch = batch_of(asked_study(1), "imported-reward")
    for _ in range(settings.ENV.MAX_ATTEMPTS):
        sweep_batches()
        assert EvaluationBatch.objects.claim(batch.pk, lease_s=-1)
    sweep_batches()
    batch.refresh_from_db()
    assert batch.state == State.FAILED
    assert "died again and again" in batch.problem


def test_worker_that_got_further_each_time_is_not_given_up() -> None:
    batch = batch_of(asked_study(9), "imported-reward")
    for number in range(1, 8):
        assert EvaluationBatch.objects.claim(batch.pk, lease_s=-1)
        EvaluationBatch.objects.filter(pk=batch.pk).update(n_done=number)
        sweep_batches()
    batch.refresh_from_db()
    assert batch.state == State.RUNNING


def test_worker_that_slept_through_its_lease_writes_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = asked_study(3)
    batch = batch_of(world, "imported-reward")
    evaluator = type(evaluator_named("imported-reward"))
    whole = evaluator.evaluate

    def sleep(self: Any, run: Run) -> Any:
        EvaluationBatch.objects.filter(pk=batch.pk).update(lease_token=99)
        return whole(self, run)

    monkeypatch.setattr(evaluator, "evaluate", sleep)
    assert carry_out(batch.pk)
    assert "taken over" in caplog.text
    assert not Evaluation.objects.exists()


def test_cancelled_batch_of_a_dead_worker_ends() -> None:
    batch = batch_of(asked_study(1), "imported-reward")
    EvaluationBatch.objects.claim(batch.pk, lease_s=-1)
    cancel_batch(batch=batch)
    sweep_batches()
    batch.refresh_from_db()
    assert batch.state == State.CANCELLED


# Pipelines over stored runs


def test_before_answers_exactly_what_the_published_matcher_asks(judge: LLMStub) -> None:
    world = audited.study()
    fuzzy = {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": ["forty-two"]}}
    world.add(of=audited.run(audited.task("fuzzy", spec=fuzzy), final_answer="42"))
    world.add(of=audited.run(audited.task("exact", spec=spec()), final_answer="It is forty-two"))
    judge.reply = lambda asked: "This is correct."
    batch = done(batch_of(world, "before"))
    assert counts(batch) == {"total": 2, "done": 2, "passed": 1, "failed": 1}
    assert len(judge.asked) == 1
    passed = batch.evaluations.get(verdict="passed")
    assert passed.details["decided_by"] == "single-stage-judge"
    assert [part["evaluator"] for part in passed.details["parts"]] == [
        "webarena-strict 1",
        "single-stage-judge 1",
    ]
    assert [stage["name"] for stage in passed.details["stages"]] == ["single"]


def test_after_reads_the_patched_task_and_says_which(judge: LLMStub) -> None:
    judge.reply = always(False)
    raw = audited.task("7", spec=spec("wrong reference"))
    infeasible = audited.task("8", spec=spec())
    patched = TaskSet.objects.create(name="shop", version="patched", parent=raw.task_set)
    mended = patched.tasks.create(external_id="7", goal=raw.goal, spec=spec("forty-two"))
    patched.tasks.create(
        external_id="8", goal="g", spec=spec(), infeasible_reason="The shop has no such page."
    )
    world = audited.study()
    world.add(of=audited.run(raw, final_answer="forty-two"))
    world.add(of=audited.run(infeasible, final_answer="forty-two"))
    batch = done(batch_of(world, "after"))
    assert counts(batch) == {"total": 2, "done": 2, "passed": 1, "not_applicable": 1}
    assert judge.asked == []
    passed = batch.evaluations.get(verdict="passed")
    assert passed.task == mended
    assert passed.details["task"] == {"set": "shop patched", "id": "7"}
    assert passed.details["decided_by"] == "webarena-repaired"
    assert passed.cost == 0
    left_out = batch.evaluations.get(verdict="not_applicable")
    assert (left_out.reason, left_out.rationale) == (
        "the task is infeasible",
        "The shop has no such page.",
    )
    before = done(batch_of(world, "webarena-strict"))
    assert {said.task for said in before.evaluations.all()} == {raw, infeasible}


@pytest.mark.parametrize("name", ["before", "after"])
def test_judge_without_a_verdict_is_an_error_that_tells_why(judge: LLMStub, name: str) -> None:
    fuzzy = {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": ["forty-two"]}}
    world = audited.study()
    world.add(of=audited.run(audited.task("fuzzy", spec=fuzzy), final_answer="Some or other."))
    judge.reply = lambda asked: "I would rather not say."
    batch = done(batch_of(world, name))
    assert counts(batch) == {"total": 1, "done": 1, "error": 1}
    said = batch.evaluations.get()
    assert said.reason == said.details["parts"][1]["reason"] != ""
    assert said.reason != "the evaluator broke on this run"
    assert said.details["stages"][0]["verdict"] == "error"
    assert said.score is None
    assert (said.cost is not None and said.cost > 0) is True


def test_failed_address_stays_failed_whatever_the_judge_says(judge: LLMStub) -> None:
    both = {
        "eval_types": ["string_match", "url_match"],
        "reference_answers": {"exact_match": "forty-two"},
        "reference_url": "http://shop.test/cart",
    }
    of = audited.task("both", spec=both)
    world = audited.study()
    world.add(of=audited.run(of, final_answer="say 42", final_url="http://shop.test/other"))
    world.add(of=audited.run(of, final_answer="say 42!", final_url="http://shop.test/cart"))
    batch = done(batch_of(world, "after"))
    assert counts(batch) == {"total": 2, "done": 2, "passed": 1, "failed": 1}
    assert len(judge.asked) == 1


def test_pipeline_is_made_again_from_its_version(judge: LLMStub) -> None:
    for name in ("before", "after"):
        evaluator = evaluator_named(name)
        version = version_of(evaluator)
        assert evaluator_of(version).identity == evaluator.identity
        assert version.kind == "pipeline"
        assert version.config["model"] == "stub-judge"
    other = evaluator_named("after", model="another")
    assert other.identity.config_hash != evaluator_named("after").identity.config_hash


# Estimates


def test_estimate_is_an_upper_bound_and_costs_nothing(judge: LLMStub) -> None:
    world = asked_study(50, answer="The shop lists {} of them.")
    expected = estimate_batch(evaluator_named("after"), study=world.study)
    assert (expected.n_runs, expected.n_sampled, judge.asked) == (50, 24, [])
    judge.reply = always(False)
    batch = done(batch_of(world, "after"))
    assert expected.cost is not None
    assert batch.spent < expected.cost
    assert len(judge.asked) == 2 * expected.n_asking


# Replies


def test_replies_are_kept_as_they_were() -> None:
    replies = StoredReplies()
    reply = Reply(
        text="été", model="m", usage=Usage(input_tokens=3, cached_tokens=1), cost=Decimal("0.0001")
    )
    assert replies.get("k" * 64) is None
    replies.put("k" * 64, reply)
    replies.put("k" * 64, reply)
    assert replies.get("k" * 64) == reply
    unpriced = Reply(text="x", model="m")
    replies.put("u" * 64, unpriced)
    assert replies.get("u" * 64) == unpriced


# The command


def evaluate(*arguments: str) -> str:
    out = StringIO()
    call_command("evaluate", *arguments, stdout=out)
    return out.getvalue()


def test_command_says_what_it_would_cost(judge: LLMStub) -> None:
    world = asked_study(3)
    said = evaluate("--study", str(world.study.pk), "--evaluator", JUDGE, "--dry-run")
    assert "3 runs" in said
    assert "at most about $" in said
    assert judge.asked == []
    assert not EvaluationBatch.objects.exists()


def test_command_stops_at_its_limit_and_goes_on(judge: LLMStub) -> None:
    world = asked_study(30)
    arguments = ["--study", str(world.study.pk), "--evaluator", JUDGE]
    evaluate(*arguments, "--limit", "1")
    one = EvaluationBatch.objects.get().spent
    with pytest.raises(CommandError, match="the same command goes on from there"):
        evaluate(*arguments, "--max-cost", str(one * 20))
    made = Evaluation.objects.count()
    assert 1 < made < 30
    said = evaluate(*arguments)
    assert f"{30 - made} evaluated ({30 - made} passed), {made} already" in said
    assert len(judge.asked) == 30


@pytest.mark.parametrize(
    "arguments", [["--max-cost", "0"], ["--max-cost", "much"], ["--model", "no-such"]]
)
def test_command_says_what_is_wrong(judge: LLMStub, arguments: list[str]) -> None:
    world = asked_study(1)
    with pytest.raises(CommandError):
        evaluate("--study", str(world.study.pk), "--evaluator", JUDGE, *arguments)
    assert judge.asked == []
