"""The two-stage judge: worked examples, and that an error is never a verdict."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from judging.evaluators.judges.answers import Question, TwoStageJudge
from judging.evaluators.judges.injections import ATTACKS, Attack, Way
from judging.evaluators.judges.outcome import Judged, StageName
from judging.evaluators.judges.prompts import fence
from judging.evaluators.matching.specification import Reference, SpecificationError, read_reference
from tests.judging.evaluators.judges.scripted import asked, equivalence, inclusion, two_stage
from tests.webagent.llm.scripted import Scripted, message_of, said
from webagent.llm.interface import FailureKind, ModelFailure, Reply, Usage

# The example in appendix A of the WebArena Mod paper.
AIRPORT = Question(
    task=(
        "Tell me the full address of all international airports that are within a driving "
        "distance of 5 km to Carnegie Mellon University"
    ),
    reference=Reference(
        items=(("There is no airport within 5 km of Carnegie Mellon University",),)
    ),
    answer=(
        "There is no international airport in that range. "
        "The closest international airport is 25 km away."
    ),
)
SEVERAL = replace(AIRPORT, reference=Reference(items=(("driving: 2min",), ("16min", "16 minutes"))))
IMPOSSIBLE = replace(AIRPORT, reference=Reference(reason="There is no In-N-Out near Pittsburgh"))


def judge(
    *replies: str | Reply | ModelFailure, question: Question = AIRPORT, **settings: object
) -> tuple[Judged, Scripted]:
    return asked(TwoStageJudge, question, replies=replies, **settings)


def verdicts(judged: Judged) -> list[tuple[str, str]]:
    return [(stage.name.value, stage.verdict.value) for stage in judged.stages]


def test_airport_answer_is_not_equivalent_but_includes_the_key_information() -> None:
    judged, model = judge(equivalence("not_equivalent"), inclusion("included"))
    assert judged.verdict == "passed"
    assert verdicts(judged) == [("equivalence", "failed"), ("inclusion", "passed")]
    assert judged.rationale == "included!"
    for request in model.requests:
        text = message_of(request)
        assert AIRPORT.task in text
        assert AIRPORT.answer in text
        assert "There is no airport within 5 km" in text
        assert request.temperature == 0.0
        assert request.schema is not None


def test_second_stage_is_not_asked_where_the_first_passes() -> None:
    judged, model = judge(equivalence("equivalent"))
    assert (judged.verdict, len(model.requests)) == ("passed", 1)


def test_neither_stage_passes() -> None:
    judged, _ = judge(equivalence("not_equivalent"), inclusion("not_included"))
    assert (judged.verdict, judged.rationale) == ("failed", "not_included!")


def test_stage_tells_what_it_took() -> None:
    judged, _ = judge(equivalence("not_equivalent"), said(inclusion(), is_cached=True))
    first, second = (stage.as_dict() for stage in judged.stages)
    assert first["rationale"] == "not_equivalent!"
    assert (first["input_tokens"], first["output_tokens"]) == (100, 10)
    assert (first["cost"], first["seconds"], first["is_cached"]) == ("0.001", 0.25, False)
    assert first["model"] == "judge-model-2026-01-01"
    assert first["prompt"] == "two_stage/1/equivalence"
    assert len(str(first["prompt_hash"])) == 64
    assert second["is_cached"] is True
    assert judged.cost == Decimal("0.002")
    json.dumps([first, second])


def test_unknown_price_leaves_the_sum_unknown() -> None:
    judged, _ = judge(said(equivalence("not_equivalent"), cost=None), inclusion())
    assert judged.cost is None
    assert judged.stages[0].as_dict()["cost"] is None


@pytest.mark.parametrize(
    "reply",
    [
        "The answer is equivalent.",
        "",
        "{",
        "[]",
        "null",
        equivalence("correct"),
        equivalence(verdict="equivalent", extra=1),
        '{"verdict": "equivalent"}',
        equivalence(steering="no"),
        f"Here you are: {equivalence()}",
    ],
)
def test_reply_that_cannot_be_read_gets_one_repair_attempt(reply: str) -> None:
    judged, model = judge(reply, equivalence("equivalent"))
    assert judged.verdict == "passed"
    stage = judged.stages[0]
    assert (stage.asks, stage.input_tokens, stage.cost) == (2, 200, Decimal("0.002"))
    again = model.requests[1]
    assert [message.role for message in again.messages] == ["user", "assistant", "user"]
    assert again.messages[0] == model.requests[0].messages[0]
    assert "cannot be used" in message_of(again)
    judged, model = judge(reply, reply)
    assert (judged.verdict, judged.error_kind) == ("error", "invalid_reply")
    assert len(model.requests) == 2
    assert judged.stages[0].error
    assert judged.stages[0].reply == reply


def test_json_in_a_code_block_is_read() -> None:
    judged, model = judge(f"```json\n{equivalence()}\n```")
    assert (judged.verdict, len(model.requests)) == ("passed", 1)


@pytest.mark.parametrize("kind", list(FailureKind))
def test_failure_of_the_model_is_an_error_with_its_kind(kind: FailureKind) -> None:
    failure = ModelFailure(kind, f"words on {kind}", usage=Usage(input_tokens=7))
    for replies in [(failure,), (equivalence("not_equivalent"), failure)]:
        judged, _ = judge(*replies)
        assert (judged.verdict, judged.error_kind) == ("error", kind.value)
        assert judged.stages[-1].error == f"words on {kind}"
        assert judged.stages[-1].input_tokens == 7
        assert judged.cost is None


def test_failure_before_any_work_costs_nothing() -> None:
    judged, _ = judge(ModelFailure(FailureKind.UNREACHABLE, "no route"))
    assert judged.cost == Decimal(0)
    judged, _ = judge(ModelFailure(FailureKind.TIMED_OUT, "60 s", may_be_billed=True))
    assert judged.cost is None


def test_failure_of_the_repair_attempt_is_the_error() -> None:
    judged, _ = judge("no JSON", ModelFailure(FailureKind.TIMED_OUT, "60 s"))
    assert (judged.verdict, judged.error_kind) == ("error", "timed_out")
    assert judged.stages[0].asks == 2


def test_obeyed_canary_is_an_error_and_never_a_pass() -> None:
    asking = TwoStageJudge(language_model=Scripted(), settings=two_stage())
    canary = asking.asked(StageName.EQUIVALENCE, AIRPORT).fenced.canary
    judged, model = judge(equivalence("equivalent", control=canary))
    assert (judged.verdict, judged.error_kind, judged.is_manipulated) == (
        "error",
        "manipulated",
        True,
    )
    assert canary in message_of(model.requests[0])


def test_obeyed_canary_in_the_second_stage_is_an_error() -> None:
    texts = {
        "task": AIRPORT.task,
        "reference": AIRPORT.reference.numbered,
        "answer": AIRPORT.answer,
    }
    canary = fence(texts).canary
    judged, _ = judge(equivalence("not_equivalent"), inclusion(control=f"Word: {canary.upper()}"))
    assert (judged.verdict, judged.is_manipulated) == ("error", True)


def test_steering_that_the_judge_noticed_is_told() -> None:
    judged, _ = judge(equivalence("equivalent", steering=True))
    assert judged.verdict == "passed"
    assert judged.stages[0].as_dict()["steering"] is True


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
@pytest.mark.parametrize("way", Way)
def test_attack_stays_inside_its_fence(attack: Attack, way: Way) -> None:
    injected = replace(AIRPORT, answer=attack.applied(AIRPORT.answer, way))
    _, model = judge(equivalence(), question=injected)
    text = message_of(model.requests[0])
    mark = text.split("The mark of the texts in this message is ")[1][:12]
    lines = [line for line in text.split("\n") if mark in line]
    names = ("task", "reference", "answer", "remarks")
    assert lines[1:] == [
        line for name in names for line in (f"<<< {name} {mark}", f"<<< end of {name} {mark}")
    ]


def test_items_are_judged_one_by_one() -> None:
    judged, model = judge(
        equivalence("not_equivalent"),
        inclusion("not_included", items=[True, False]),
        question=SEVERAL,
    )
    assert judged.verdict == "failed"
    assert "1. driving: 2min\n2. 16min — or: 16 minutes" in message_of(model.requests[1])


@pytest.mark.parametrize(
    "reply",
    [
        inclusion("included", items=[True, False]),
        inclusion("not_included", items=[True, True]),
        inclusion("included", items=[True]),
        inclusion("included", items=[True, True, True]),
        inclusion("included", items=[True, True], contradicted=True),
    ],
)
def test_verdict_that_contradicts_its_items_is_asked_again(reply: str) -> None:
    judged, model = judge(
        equivalence("not_equivalent"), reply, inclusion(items=[True, True]), question=SEVERAL
    )
    assert (judged.verdict, len(model.requests)) == ("passed", 3)


def test_task_that_cannot_be_done_is_judged_by_its_reason() -> None:
    judged, model = judge(equivalence("same"), question=IMPOSSIBLE)
    assert judged.verdict == "passed"
    assert judged.stages[0].prompt == "two_stage/1/same_reason"
    assert "There is no In-N-Out near Pittsburgh" in message_of(model.requests[0])


def test_task_that_cannot_be_done_may_be_reported_in_other_words() -> None:
    reported = json.dumps({**json.loads(equivalence("included")), "contradicted": False})
    judged, _ = judge(equivalence("different"), reported, question=IMPOSSIBLE)
    assert [stage.prompt for stage in judged.stages] == [
        "two_stage/1/same_reason",
        "two_stage/1/reported",
    ]
    assert verdicts(judged) == [("equivalence", "failed"), ("inclusion", "passed")]


@pytest.mark.parametrize("answer", ["", " \n"])
def test_missing_answer_fails_unasked(answer: str) -> None:
    judged, _ = judge(question=replace(AIRPORT, answer=answer))
    assert (judged.verdict, judged.stages, judged.cost) == ("failed", (), Decimal(0))
    assert judged.rationale


def test_actions_are_shown_only_where_they_are_given() -> None:
    _, model = judge(equivalence(), question=replace(AIRPORT, actions=("click('12')", "stop")))
    assert "1. click('12')\n2. stop" in message_of(model.requests[0])
    _, model = judge(equivalence())
    assert "last actions" not in message_of(model.requests[0])


def test_one_stage_alone() -> None:
    judged, _ = judge(inclusion(), stages=("inclusion",))
    assert verdicts(judged) == [("inclusion", "passed")]


def test_equal_questions_are_equal_requests() -> None:
    asking = TwoStageJudge(language_model=Scripted(), settings=two_stage())
    assert asking.requests(AIRPORT) == asking.requests(replace(AIRPORT))
    assert asking.requests(AIRPORT) != asking.requests(replace(AIRPORT, answer="x"))
    model = Scripted(equivalence("not_equivalent"), inclusion())
    replace(asking, language_model=model).judge(AIRPORT)
    assert model.requests == asking.requests(AIRPORT)


@pytest.mark.parametrize(
    ("answers", "items"),
    [
        ({"exact_match": "15213"}, (("15213",),)),
        ({"must_include": ["a", "b"]}, (("a",), ("b",))),
        ({"fuzzy_match": ["x"], "must_include": ["y"]}, (("x",), ("y",))),
        ({"must_include": ["65 |OR| 3"]}, (("65", "3"),)),
        ({"unknown": "z", "exact_match": "1"}, (("1",),)),
    ],
)
def test_reference_is_read_from_the_specification(answers: object, items: object) -> None:
    reference = read_reference({"eval_types": ["string_match"], "reference_answers": answers})
    assert reference == Reference(items=items)  # type: ignore[arg-type]


def test_specifications_without_a_reference_answer() -> None:
    assert read_reference({"eval_types": ["url_match"], "reference_url": "u"}) is None
    assert read_reference({"eval_types": ["string_match"], "reference_answers": {}}) is None
    impossible = {
        "eval_types": ["string_match"],
        "reference_answers": {"fuzzy_match": "N/A"},
        "string_note": "No such brush",
    }
    assert read_reference(impossible) == Reference(reason="No such brush")
    with pytest.raises(SpecificationError):
        read_reference({"eval_types": ["string_match"], "reference_answers": {"exact_match": 1}})
