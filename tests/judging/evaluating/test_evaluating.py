"""Evaluators over stored runs: what they find, and that a finding is made once."""

import math
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext, override_settings
from kombu.exceptions import OperationalError

from judging.evaluating.evaluating import evaluate_runs, evaluate_study, version_of
from judging.evaluating.tasks import evaluate_run
from judging.evaluators.matching.pipeline import NAMES
from judging.evaluators.registry import (
    UnknownEvaluatorError,
    evaluator_named,
    evaluator_of,
    predefined_evaluators,
)
from judging.models import Evaluation, EvaluatorVersion
from runs.models import Run, RunStatus
from runs.models.hooks import runs_ended
from tests.judging.analysis import audited

pytestmark = pytest.mark.django_db

EXACT = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "42"}}
FUZZY = {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": ["forty-two"]}}
URL = {"eval_types": ["url_match"], "reference_url": "http://shop.test/cart"}
PAGE = {
    "eval_types": ["program_html"],
    "program_html": [
        {"url": "last", "locator": "document.title", "required_contents": {"exact_match": "Cart"}}
    ],
}


def find(name: str, **fields: Any) -> Any:
    return evaluator_named(name).evaluate(audited.run(**fields))


def task_with(spec: object) -> Any:
    return audited.task(str(spec), spec=spec)


@pytest.mark.parametrize(
    ("reward", "verdict"),
    [(1.0, "passed"), (0.51, "passed"), (0.5, "failed"), (0.0, "failed"), (-1.0, "failed")],
)
def test_reward_above_one_half_passes_and_stays_readable(reward: float, verdict: str) -> None:
    finding = find("imported-reward", reward=reward, outcome="unknown")
    assert finding.verdict == verdict
    assert finding.score == reward
    assert finding.details["checks"][0]["actual"] == f"{reward:g}"


def test_run_that_ended_in_an_error_is_never_failed() -> None:
    finding = find("imported-reward", reward=0.0, outcome="error", error_message="net down")
    assert (finding.verdict, finding.reason) == ("error", "the run ended in an error")
    assert finding.details["error"] == "net down"
    finding = find("webarena-strict", of=task_with(EXACT), final_answer="41", outcome="error")
    assert (finding.verdict, finding.reason) == ("error", "the run ended in an error")


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"outcome": "incomplete", "reward": 0.0}, "error"),
        ({"outcome": "not_executable", "reward": 0.0}, "not_applicable"),
        ({"reward": None}, "not_applicable"),
        ({"reward": math.inf}, "error"),
    ],
)
def test_runs_that_a_reward_says_nothing_of(fields: dict[str, Any], verdict: str) -> None:
    finding = find("imported-reward", **fields)
    assert finding.verdict == verdict
    assert finding.reason
    assert finding.score is None


@pytest.mark.parametrize(
    ("spec", "fields", "verdict", "reason"),
    [
        (EXACT, {"final_answer": " 42 "}, "passed", ""),
        (EXACT, {"final_answer": "It is 42"}, "failed", ""),
        (EXACT, {"final_answer": None}, "failed", ""),
        (FUZZY, {"final_answer": "forty-two"}, "error", "needs a judge"),
        (URL, {"final_url": "https://shop.test/cart/"}, "passed", ""),
        (URL, {"final_url": None}, "error", "the final URL was not recorded"),
        (PAGE, {"evidence": {"pages": [{"text": "Cart"}]}}, "passed", ""),
        (PAGE, {"evidence": {"pages": [{"text": "Home"}]}}, "failed", ""),
        (PAGE, {"evidence": {"pages": [None]}}, "error", "the page was not captured"),
        (
            PAGE,
            {"evidence": {"pages": [{"text": "Ca", "text_truncated": True}]}},
            "error",
            "the captured page was too long to be kept whole",
        ),
        (URL, {"evidence": {"final_url": "http://shop.test/cart"}}, "passed", ""),
        (PAGE, {"evidence": None}, "error", "the page was not captured"),
        (PAGE, {"evidence": {"pages": "Cart"}}, "error", "the captured evidence cannot be read"),
        (PAGE, {"evidence": ["Cart"]}, "error", "the captured evidence cannot be read"),
        (
            None,
            {"final_answer": "42"},
            "not_applicable",
            "the task has no evaluation specification",
        ),
        (["x"], {}, "not_applicable", "the task's specification is of another kind"),
        ({"answer": 42}, {}, "not_applicable", "the task's specification is of another kind"),
    ],
)
def test_strict_matcher_reads_what_is_stored(
    spec: object, fields: dict[str, Any], verdict: str, reason: str
) -> None:
    finding = find("webarena-strict", of=task_with(spec), **fields)
    assert (finding.verdict, finding.reason) == (verdict, reason)


_TARGET = {"url": "last", "locator": "", "required_contents": {"exact_match": "__SHOPPING__"}}
_NOTED = {
    "eval_types": ["string_match"],
    "reference_answers": {"fuzzy_match": "N/A"},
    "string_note": "__SHOPPING__ is down",
}


@pytest.mark.parametrize("name", ["webarena-strict", "webarena-repaired"])
@pytest.mark.parametrize(
    "spec",
    [
        {**EXACT, "reference_answers": {"exact_match": "__SHOPPING__"}},
        {**EXACT, "reference_answers": {"must_include": ["__SHOPPING__"]}},
        {**FUZZY, "reference_answers": {"fuzzy_match": ["__SHOPPING__"]}},
        {**URL, "reference_url": "__SHOPPING__/cart"},
        {**PAGE, "program_html": [_TARGET]},
        _NOTED,
    ],
)
@override_settings(SITE_HOSTS={})
def test_address_that_is_still_a_placeholder_is_no_failure(name: str, spec: object) -> None:
    outcome = {"final_answer": "42", "final_url": "http://shop.test/cart"}
    evidence = {"pages": [{"text": "Cart"}]}
    finding = find(name, of=task_with(spec), evidence=evidence, **outcome)
    assert (finding.verdict, finding.details) == ("error", {"placeholder": "__SHOPPING__"})


def test_placeholder_in_a_part_that_is_not_compared_does_no_harm() -> None:
    spec = {**EXACT, "reference_url": "__SHOPPING__"}
    assert find("webarena-strict", of=task_with(spec), final_answer="42").verdict == "passed"
    target = {**PAGE["program_html"][0], "url": "__SHOPPING__/cart"}  # type: ignore[index]
    evidence = {"pages": [{"text": "Cart"}]}
    found = find(
        "webarena-strict", of=task_with({**PAGE, "program_html": [target]}), evidence=evidence
    )
    assert found.verdict == "passed"


def test_evaluation_keeps_what_decided() -> None:
    run = audited.run(task_with(EXACT), final_answer="It is 42", content_hash="ab" * 32)
    evaluator = evaluator_named("webarena-strict")
    evaluate_runs([run], evaluator, version_of(evaluator))
    stored = Evaluation.objects.get()
    assert stored.details["checks"][0]["expected"] == "42"
    assert stored.score == 0.0
    assert stored.record == {"content_hash": "ab" * 32}


def test_version_is_made_once_and_gives_the_same_evaluator_again() -> None:
    for evaluator in predefined_evaluators():
        version = version_of(evaluator)
        assert version_of(evaluator) == version
        assert evaluator_of(version) == evaluator


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "claude-judge"},
        {"name": "imported-reward", "config": {"success_above": 0.5}},
        {"name": "imported-reward", "config": {"succeeds_over": 0.5}},
    ],
)
def test_version_of_elsewhere_or_another_time_is_not_run(fields: dict[str, Any]) -> None:
    version = EvaluatorVersion.objects.create(version="0", config_hash="f" * 64, **fields)
    with pytest.raises(UnknownEvaluatorError, match="imported-reward"):
        evaluator_of(version)


def test_second_time_finds_the_first_evaluation() -> None:
    world = audited.study()
    world.add(of=audited.run(reward=1.0))
    evaluator = evaluator_named("imported-reward")
    evaluate_study(world.study, evaluator)
    first = Evaluation.objects.get()
    evaluate_study(world.study, evaluator)
    assert Evaluation.objects.get() == first


def test_queries_do_not_grow_with_the_runs_of_a_batch(django_assert_num_queries: Any) -> None:
    evaluator = evaluator_named("imported-reward")
    version = version_of(evaluator)
    for number in (2, 20):
        runs = [audited.run(reward=1.0) for _ in range(number)]
        with django_assert_num_queries(4):  # savepoint, insert, look, release
            evaluate_runs(runs, evaluator, version)


def test_runs_that_still_wait_are_left_alone() -> None:
    world = audited.study()
    world.add(of=audited.run(reward=1.0, status=RunStatus.RUNNING))
    evaluate_study(world.study, evaluator_named("imported-reward"))
    assert not Evaluation.objects.exists()


@pytest.fixture
def dispatched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    calls: list[tuple[str, int]] = []
    monkeypatch.setattr(evaluate_run, "apply_async", lambda args, retry: calls.append(args))
    return calls


def end(*runs: Run) -> None:
    runs_ended.send(sender=Run, run_ids=[run.pk for run in runs])


def said_of_success() -> QuerySet[Evaluation]:
    """Evaluations but for those that say how a run failed, which every ended run gets at once."""
    return Evaluation.objects.exclude(evaluator__kind=EvaluatorVersion.Kind.MODES)


def test_ended_run_gets_its_reward_at_once(
    dispatched: list[tuple[str, int]], django_capture_on_commit_callbacks: Any
) -> None:
    run = audited.run(reward=1.0)
    with django_capture_on_commit_callbacks(execute=True):
        end(run)
        end(run)
    assert said_of_success().get().evaluator.name == "imported-reward"
    assert dispatched == []  # nothing to match: the task has no specification


def test_runs_that_end_together_are_asked_about_together(dispatched: list[tuple[str, int]]) -> None:
    end(audited.run(reward=1.0))
    one, some = audited.run(reward=1.0), [audited.run(reward=1.0) for _ in range(4)]
    with CaptureQueriesContext(connection) as alone:
        end(one)
    with CaptureQueriesContext(connection) as together:
        end(*some)
    assert len(together) == len(alone)
    assert said_of_success().count() == 6


def test_ended_run_is_matched_in_the_background(
    dispatched: list[tuple[str, int]], django_capture_on_commit_callbacks: Any
) -> None:
    run = audited.run(task_with(EXACT), final_answer="42")
    with django_capture_on_commit_callbacks(execute=True):
        end(run)
    assert not said_of_success().exists()
    for run_id, evaluator_id in dispatched * 2:
        evaluate_run(run_id, evaluator_id)
    found = dict(said_of_success().values_list("evaluator__name", "verdict"))
    assert found == dict.fromkeys(NAMES, "passed")
    assert said_of_success().count() == len(NAMES)


def test_broker_that_is_down_undoes_nothing(
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(args: object, retry: bool) -> None:
        raise OperationalError("no route")

    monkeypatch.setattr(evaluate_run, "apply_async", refuse)
    run = audited.run(task_with(EXACT), reward=1.0, final_answer="42")
    with django_capture_on_commit_callbacks(execute=True):
        end(run)
    assert said_of_success().get().evaluator.name == "imported-reward"
    assert str(run.pk) in caplog.text


def evaluate(*arguments: str) -> str:
    out = StringIO()
    call_command("evaluate", *arguments, stdout=out)
    return out.getvalue()


def test_command_tells_what_it_did() -> None:
    world = audited.study("Paper")
    world.add(of=audited.run(task_with(EXACT), reward=1.0, final_answer="42"))
    world.add(of=audited.run(reward=0.0))
    assert evaluate("--study", "Paper", "--evaluator", "imported-reward") == (
        "imported-reward: 2 evaluated (1 passed, 1 failed), 0 already had an evaluation\n"
    )
    assert evaluate("--study", str(world.study.pk)).splitlines() == [
        "imported-reward: 0 evaluated, 2 already had an evaluation",
        *(
            f"{name}: 2 evaluated (1 passed, 1 not applicable), 0 already had an evaluation"
            for name in NAMES
        ),
        "milestones-mechanical: 2 evaluated (2 not applicable), 0 already had an evaluation",
        "failure-modes-mechanical: 2 evaluated (2 not applicable), 0 already had an evaluation",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--study", "No such"],
        ["--study", "99"],
        ["--study", "Paper", "--evaluator", "no-such"],
        ["--study", "Paper", "--limit", "0"],
    ],
)
def test_command_says_what_is_wrong(arguments: list[str]) -> None:
    audited.study("Paper")
    with pytest.raises(CommandError):
        evaluate(*arguments)
