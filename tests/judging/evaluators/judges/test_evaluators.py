"""Judges over stored runs: what they ask, what they find, and that their identity says all."""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.test import override_settings

from judging.evaluators.answer_judges import JUDGES
from judging.evaluators.milestones import stored_progress
from runs.catalogue.milestones.definitions import digest_of_task
from runs.catalogue.milestones.services import set_milestones
from runs.models import Run, Step, Task
from runs.storage.records import step_row
from tests.judging.analysis import audited
from tests.judging.evaluators.judges.scripted import equivalence, inclusion
from tests.judging.evaluators.judges.test_milestones import reply as milestones
from tests.judging.evaluators.judges.test_milestones import said
from tests.judging.evaluators.judges.test_trajectory import FINE, picture, reply
from tests.runs.storage.stores import store_blob
from tests.webagent.llm.scripted import Scripted, message_of
from webagent.llm.interface import FailureKind, ModelFailure
from webagent.milestones.findings import Definition
from webagent.trajectory.actions import parse_browsergym_actions
from webagent.trajectory.formats.online_mind2web.steps import action_records
from webagent.trajectory.records import ActionRecord, StepRecord

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests judges")]

EXACT = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "42"}}
FUZZY = {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": ["six", "times"]}}
MIXED = {
    "eval_types": ["string_match", "url_match"],
    "reference_answers": {"fuzzy_match": ["yes"]},
    "reference_url": "http://shop.test/",
}
IMPOSSIBLE = {
    "eval_types": ["string_match"],
    "reference_answers": {"fuzzy_match": "N/A"},
    "string_note": "There is none",
}
URL = {"eval_types": ["url_match"], "reference_url": "http://shop.test/cart"}
NAMED = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "__REDDIT__/f/x"}}


def task(spec: object) -> Task:
    return audited.task(f"task {spec}"[:200], spec=spec)


def evaluate(
    name: str, run: Run, *replies: str | ModelFailure, **config: Any
) -> tuple[Any, Scripted]:
    model = Scripted(*replies)
    evaluator = JUDGES[name](language_model=model, model="judge", **config)
    finding = evaluator.evaluate(run)
    assert not model.replies
    return finding, model


def test_two_stages_over_a_stored_run() -> None:
    run = audited.run(task(EXACT), final_answer="It is 42, I think.")
    finding, model = evaluate(
        "two-stage-judge", run, equivalence("not_equivalent"), inclusion("included")
    )
    assert (finding.verdict, finding.score, finding.reason) == ("passed", 1.0, "")
    assert (finding.rationale, finding.cost) == ("included!", Decimal("0.002"))
    assert [stage["name"] for stage in finding.details["stages"]] == ["equivalence", "inclusion"]
    assert finding.details["manipulated"] is False
    check = finding.details["checks"][0]
    assert (check["expected"], check["actual"]) == ("42", "It is 42, I think.")
    assert run.goal in message_of(model.requests[0])


def test_whatever_is_set_is_part_of_the_identity() -> None:
    def identity(name: str, **config: Any) -> Any:
        return JUDGES[name](language_model=Scripted(), **{"model": "judge", **config}).identity

    every: dict[str, list[dict[str, Any]]] = {
        "two-stage-judge": [
            {"stages": ["equivalence"]},
            {"show_actions": 3},
            {"longest_text": 500},
        ],
        "single-stage-judge": [{"mode": "final_line"}, {"calls": "every_reference"}],
        "trajectory-judge": [
            {"show_thoughts": True},
            {"pictures": 2},
            {"selection": "even"},
            {"side_effects_fail": False},
        ],
    }
    for name, settings in every.items():
        shared: list[dict[str, Any]] = [
            {},
            {"model": "other"},
            {"temperature": None},
            {"max_tokens": 99},
        ]
        identities = [identity(name, **given) for given in [*shared, *settings]]
        assert len({each.config_hash for each in identities}) == len(identities)
        for each in identities:
            assert identity(name, **each.config) == each
            assert (each.kind, each.name) == ("judge", name)


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("two-stage-judge", {"prompts": "99"}),
        ("two-stage-judge", {"stages": []}),
        ("two-stage-judge", {"stages": ["inclusion", "equivalence"]}),
        ("single-stage-judge", {"show_actions": 1}),
        ("trajectory-judge", {"pictures": -1}),
        ("trajectory-judge", {"model": ""}),
    ],
)
def test_unknown_settings_are_refused(name: str, config: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        JUDGES[name](language_model=Scripted(), **{"model": "judge", **config})


@pytest.mark.parametrize("name", ["two-stage-judge", "single-stage-judge"])
@pytest.mark.parametrize(
    ("spec", "fields", "verdict", "reason"),
    [
        (None, {}, "not_applicable", "the task has no evaluation specification"),
        (["x"], {}, "not_applicable", "the task's specification is of another kind"),
        (URL, {}, "not_applicable", "the task has no reference answer"),
        (
            {"eval_types": ["string_match"], "reference_answers": {"exact_match": 1}},
            {},
            "error",
            "the task's specification cannot be read",
        ),
        (NAMED, {}, "error", "the task names a site whose address is not set"),
        (EXACT, {"outcome": "error"}, "error", "the run ended in an error"),
        (EXACT, {"outcome": "incomplete"}, "error", "the run is incomplete"),
    ],
)
@override_settings(SITE_HOSTS={})
def test_nothing_is_asked_where_nothing_can_be_said(
    name: str, spec: object, fields: dict[str, Any], verdict: str, reason: str
) -> None:
    run = audited.run(task(spec), final_answer="42", **fields)
    finding, _ = evaluate(name, run)
    assert (finding.verdict, finding.reason) == (verdict, reason)
    evaluator = JUDGES[name](language_model=Scripted(), model="judge")
    assert evaluator.estimate(run) == (0, 0)


@override_settings(SITE_HOSTS={"reddit": "http://forum.test:9999"})
def test_judge_reads_the_deployments_addresses() -> None:
    run = audited.run(task(NAMED), final_answer="x", goal="Go to __REDDIT__")
    _, model = evaluate("two-stage-judge", run, equivalence())
    assert "http://forum.test:9999/f/x" in message_of(model.requests[0])
    assert "Go to http://forum.test:9999" in message_of(model.requests[0])


def test_other_parts_of_a_task_are_named_and_not_judged() -> None:
    run = audited.run(task(MIXED), final_answer="yes")
    finding, _ = evaluate("two-stage-judge", run, equivalence())
    assert [(c["name"], c["verdict"]) for c in finding.details["checks"]] == [
        ("answer", "passed"),
        ("url_match", "ignored"),
    ]


def test_single_stage_asks_what_the_published_evaluator_asks() -> None:
    run = audited.run(task(FUZZY), final_answer='"Six Times"')
    finding, model = evaluate("single-stage-judge", run, "correct", "incorrect")
    assert (finding.verdict, finding.score) == ("failed", 0.0)
    assert [stage["verdict"] for stage in finding.details["stages"]] == ["passed", "failed"]
    assert "Student's answer: six times" in message_of(model.requests[0])
    finding, _ = evaluate("single-stage-judge", audited.run(task(EXACT), final_answer="42"))
    assert finding.reason == "the published evaluator asks no judge here"
    bare = audited.run(task(IMPOSSIBLE), final_answer="n/a")
    assert evaluate("single-stage-judge", bare)[0].verdict == "not_applicable"
    finding, model = evaluate(
        "single-stage-judge", audited.run(task(IMPOSSIBLE), final_answer="None here"), "same"
    )
    assert finding.verdict == "passed"
    assert "Actual reason: There is none" in message_of(model.requests[0])


def test_single_stage_on_every_reference() -> None:
    config = {"mode": "final_line", "calls": "every_reference"}
    run = audited.run(task(EXACT), final_answer="It Is 42")
    finding, model = evaluate("single-stage-judge", run, "So.\nVERDICT: correct", **config)
    assert finding.verdict == "passed"
    assert "It Is 42" in message_of(model.requests[0])


def test_missing_answer_fails_unasked() -> None:
    finding, _ = evaluate("two-stage-judge", audited.run(task(EXACT), final_answer=None))
    assert (finding.verdict, finding.cost) == ("failed", Decimal(0))
    assert finding.details["checks"][0]["message"]


@pytest.mark.parametrize("kind", list(FailureKind))
def test_every_failure_has_words_and_is_no_verdict(kind: FailureKind) -> None:
    run = audited.run(task(EXACT), final_answer="42")
    finding, _ = evaluate("two-stage-judge", run, ModelFailure(kind, "details"))
    assert (finding.verdict, finding.score) == ("error", None)
    assert finding.reason
    assert finding.reason != "the judge came to no verdict"
    assert finding.details["stages"][0]["error"] == "details"


def test_actions_are_shown_when_asked_for() -> None:
    run = audited.run(task(EXACT), final_answer="42", n_steps=3)
    for index in range(3):
        Step.objects.create(run=run, index=index, action=f"click('{index}')", thought="secret")
    _, model = evaluate("two-stage-judge", run, equivalence(), show_actions=2)
    assert "1. click('1')\n2. click('2')" in message_of(model.requests[0])
    assert "secret" not in message_of(model.requests[0])


@pytest.fixture
def walked() -> Run:
    """Five steps; the page is white, then black from step 2 on, with a picture at the end."""
    run = audited.run(audited.task("walk"), final_answer="done", n_steps=5)
    for index in range(5):
        page = store_blob(picture("white" if index < 2 else "black"), "image/png")
        after = store_blob(picture("red"), "image/png") if index == 4 else None
        Step.objects.create(
            run=run,
            index=index,
            action=f"click('{index}')",
            screenshot=page,
            after_screenshot=after,
        )
    return run


def test_trajectory_judge_over_a_stored_run(walked: Run) -> None:
    finding, model = evaluate("trajectory-judge", walked, reply(*FINE))
    assert (finding.verdict, finding.score) == ("passed", 1.0)
    assert finding.details["stages"][0]["evidence_steps"] == [0, 4]
    assert finding.details["pictures"] == [0, 2, 4]
    assert "the page after step 4" in message_of(model.requests[0])
    finding, _ = evaluate("trajectory-judge", walked, reply(*FINE), pictures=2)
    assert finding.details["pictures"] == [0, 4]
    finding, _ = evaluate("trajectory-judge", walked, reply(*FINE), pictures=0)
    assert finding.details["pictures"] == []


ANSWERS: dict[str, tuple[Any, str]] = {
    "browsergym": ("click('1')\nsend_msg_to_user('24.90')", "click('1')\nsend_msg_to_user"),
    "om2w": ("TASK_COMPLETE -> ANSWER: 24.90", "task_complete"),
    "browser_use": ({"done": {"text": "24.90", "success": True}}, "done"),
}


@pytest.mark.parametrize("dialect", ANSWERS)
def test_an_answer_that_is_not_shown_stands_in_no_action_either(dialect: str) -> None:
    raw, left = ANSWERS[dialect]
    if dialect == "browsergym":
        actions = parse_browsergym_actions(raw)
    elif isinstance(raw, str):
        actions = action_records(raw, 1_000)
    else:
        actions = (ActionRecord(raw=raw, dialect=dialect, name="done", named_args=raw["done"]),)
    run = audited.run(audited.task("answered"), final_answer="24.90", n_steps=5)
    for index in range(5):
        step_row(run.pk, StepRecord(run_id="x", index=index, actions=actions)).save()
    _, model = evaluate("trajectory-judge", run, reply(*FINE))
    assert message_of(model.requests[0]).count("24.90") == 6
    _, model = evaluate("trajectory-judge", run, reply(*FINE), show_answer=False)
    assert "24.90" not in message_of(model.requests[0])
    assert " ".join(f"step 4: {left} (not shown)".split()) in message_of(model.requests[0])


def test_run_without_steps_has_no_trajectory() -> None:
    finding, _ = evaluate("trajectory-judge", audited.run())
    assert (finding.verdict, finding.reason) == ("not_applicable", "the run has no steps")


def test_estimates_grow_with_what_is_shown(walked: Run) -> None:
    def estimate(name: str, run: Run, **config: Any) -> tuple[int, int]:
        return JUDGES[name](language_model=Scripted(), model="judge", **config).estimate(run)

    short = audited.run(task(EXACT), final_answer="42")
    long = audited.run(task(EXACT), final_answer="4" * 5000)
    assert estimate("two-stage-judge", short)[1] == 2 * 2048
    assert estimate("two-stage-judge", long)[0] > estimate("two-stage-judge", short)[0] + 3000
    assert estimate("two-stage-judge", short, stages=["inclusion"])[1] == 2048
    assert (
        estimate("trajectory-judge", walked)[0]
        > estimate("trajectory-judge", walked, pictures=0)[0]
    )


def with_milestones(*names: str) -> Run:
    run = audited.run(task(None), n_steps=3)
    set_milestones(task=run.task, milestones=[Definition(name=name) for name in names])
    for index in range(3):
        Step.objects.create(run=run, index=index, action=f"click('{index}')")
    return run


def test_milestones_of_a_stored_run_are_judged_at_once() -> None:
    run = with_milestones("the form is open", "the form is sent")
    finding, model = evaluate(
        "milestones-judge", run, milestones(said(1, at=1), said(2, "not_reached"))
    )
    assert (finding.verdict, finding.score, finding.cost) == ("failed", 0.5, Decimal("0.001"))
    assert finding.details["progress"] == {
        "maximum": 50.0,
        "final": 50.0,
        "by_step": [0.0, 50.0, 50.0],
    }
    assert [each["achieved_at"] for each in finding.details["milestones"]] == [1, None]
    assert finding.details["milestones_hash"] == digest_of_task(run.task)
    read = stored_progress(json.loads(json.dumps(finding.details)))
    assert read is not None
    assert read.progress.by_step == (0.0, 50.0, 50.0)
    assert "1. the form is open\n2. the form is sent" in message_of(model.requests[0])


def test_milestone_judge_that_errs_says_nothing_of_the_agent() -> None:
    run = with_milestones("the form is sent")
    finding, _ = evaluate("milestones-judge", run, "what?", "what?")
    assert (finding.verdict, finding.score) == ("error", None)
    assert "progress" not in finding.details
    refused = ModelFailure(FailureKind.OVERLOADED, "busy")
    assert evaluate("milestones-judge", run, refused)[0].verdict == "error"


def test_without_milestones_or_with_a_broken_run_no_model_is_asked() -> None:
    run = audited.run(task(None), n_steps=1)
    finding, _ = evaluate("milestones-judge", run)
    assert (finding.verdict, finding.reason) == ("not_applicable", "the task has no milestones")
    evaluator = JUDGES["milestones-judge"](language_model=Scripted(), model="judge")
    assert not evaluator.applies_to(run)
    assert evaluator.estimate(run) == (0, 0)
    broken = with_milestones("the form is sent")
    assert evaluator.applies_to(broken)
    assert evaluator.estimate(broken)[0] > 500
    broken.outcome = Run.Outcome.ERROR
    assert evaluate("milestones-judge", broken)[0].verdict == "error"
