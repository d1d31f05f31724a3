"""The judges with the providers' own SDKs, over HTTP, against a server that fails as it is told."""

import json

import pytest

from judging.evaluators.judges.answers import (
    SingleStageJudge,
    SingleStageSettings,
    TwoStageJudge,
    TwoStageSettings,
)
from judging.evaluators.judges.outcome import Judged
from judging.evaluators.judges.whole_run import TrajectoryJudge, TrajectorySettings
from tests.judging.evaluators.judges.scripted import equivalence, inclusion
from tests.judging.evaluators.judges.test_single_stage import CALL
from tests.judging.evaluators.judges.test_trajectory import FINE, ORDER, reply
from tests.judging.evaluators.judges.test_two_stage import AIRPORT
from tests.webagent.llm.protocols import Asked
from tests.webagent.llm.stub import Answer, Fault, LLMStub, cut_off, fail, go_wrong, refuse, say
from tests.webagent.llm.stub_models import NAMES, WHOLE
from webagent.llm.client import Client

every_protocol = pytest.mark.parametrize("name", NAMES)


def two_stages(client: Client, name: str) -> Judged:
    settings = TwoStageSettings(model=name)
    return TwoStageJudge(language_model=client, settings=settings).judge(AIRPORT)


@every_protocol
@pytest.mark.slow
def test_airport_answer_passes_at_the_second_stage(
    llm_stub: LLMStub, llm_client: Client, name: str
) -> None:
    def answer(asked: Asked) -> str:
        assert AIRPORT.answer in asked.text
        assert asked.schema["required"][-1] == "verdict"
        is_first = "equivalent" in json.dumps(asked.schema)
        return equivalence("not_equivalent") if is_first else inclusion("included")

    llm_stub.reply = answer
    judged = two_stages(llm_client, name)
    assert judged.verdict == "passed"
    assert [stage.verdict for stage in judged.stages] == ["failed", "passed"]
    for stage in judged.stages:
        assert stage.model == f"{name}-id-as-served"
        assert stage.input_tokens > 0
        assert stage.cost is not None
        assert stage.cost > 0
    assert len(llm_stub.asked) == 2


@every_protocol
@pytest.mark.fault(8, "a reply whose JSON is cut")
def test_broken_json_is_asked_again_once(llm_stub: LLMStub, llm_client: Client, name: str) -> None:
    llm_stub.queue('{"verdict": "equiv', equivalence())
    judged = two_stages(llm_client, name)
    assert (judged.verdict, judged.stages[0].asks) == ("passed", 2)
    assert "cannot be used" in llm_stub.asked[1].text
    assert len(llm_stub.asked[1].messages) == 3


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ([fail(429, retry_after="0"), fail(429, retry_after="0")], "rate_limited"),
        ([fail(500), fail(503)], "overloaded"),
        ([fail(400)], "rejected"),
        ([fail(401)], "not_authorised"),
        ([refuse()], "refused"),
        ([cut_off('{"rationale": "it')], "truncated"),
        ([go_wrong(Fault.DROPPED), go_wrong(Fault.DROPPED)], "unreachable"),
        ([say("x"), say("y")], "invalid_reply"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.fault(8, "a provider answers 429, 500, 400, 401, a refusal, half a reply or nonsense")
@pytest.mark.slow
def test_trouble_is_an_error_and_no_verdict(
    llm_stub: LLMStub, llm_client: Client, name: str, answers: list[Answer], kind: str
) -> None:
    llm_stub.queue(*answers)
    judged = two_stages(llm_client, name)
    assert (judged.verdict, judged.error_kind) == ("error", kind)
    assert judged.stages[0].error
    assert len(llm_stub.asked) == len(answers)


def test_passing_trouble_is_waited_out(llm_stub: LLMStub, llm_client: Client) -> None:
    llm_stub.queue(fail(429, retry_after="0"), equivalence())
    assert two_stages(llm_client, WHOLE[0]).verdict == "passed"


@every_protocol
def test_single_stage_asks_for_plain_text(llm_stub: LLMStub, llm_client: Client, name: str) -> None:
    llm_stub.queue("That is the same.\n\nVERDICT: correct")
    settings = SingleStageSettings(model=name, mode="final_line")
    judged = SingleStageJudge(language_model=llm_client, settings=settings).judge([CALL])
    assert judged.verdict == "passed"
    assert llm_stub.asked[0].schema is None


@every_protocol
def test_pictures_arrive(llm_stub: LLMStub, llm_client: Client, name: str) -> None:
    llm_stub.queue(reply(*FINE))
    settings = TrajectorySettings(model=name)
    judged = TrajectoryJudge(language_model=llm_client, settings=settings).judge(ORDER)
    assert judged.verdict == "passed"
    assert llm_stub.asked[0].images == tuple(picture.data for picture in ORDER.pictures)
