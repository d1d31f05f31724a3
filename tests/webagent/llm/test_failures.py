"""Every way in which a provider fails, for every protocol, streamed and not."""

import logging
import traceback

import httpx2
import pytest

from tests.webagent.llm.stub import Answer, Fault, LLMStub, cut_off, fail, go_wrong, say
from tests.webagent.llm.stub_models import ENVIRONMENT, KEY, NAMES, STREAMED, WHOLE, stub_registry
from webagent.llm.client import Client, RetryLimits
from webagent.llm.failures import retry_after
from webagent.llm.interface import FailureKind, Message, ModelFailure, Request

pytestmark = pytest.mark.slow

PROMPT = "The trajectory says something private."
ONCE = RetryLimits(max_tries=1)
every_model = pytest.mark.parametrize("name", NAMES)


def question(name: str) -> Request:
    return Request(model=name, messages=(Message.user(PROMPT),))


def failure_of(stub: LLMStub, name: str, answer: Answer, **entry: object) -> ModelFailure:
    """The failure of one try of the model when the server answers so."""
    stub.queue(answer)
    registry = stub_registry(stub, **entry)
    with (
        Client(registry, environment=ENVIRONMENT, patience=ONCE) as client,
        pytest.raises(ModelFailure) as caught,
    ):
        client.complete(question(name))
    assert len(stub.asked) == 1, "the SDK tried again by itself"
    assert name in str(caught.value)
    return caught.value


@every_model
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (fail(400, "no such field"), FailureKind.REJECTED),
        (fail(404, "no such model"), FailureKind.REJECTED),
        (fail(422, "bad"), FailureKind.REJECTED),
        (fail(401, "bad key"), FailureKind.NOT_AUTHORISED),
        (fail(403, "not yours"), FailureKind.NOT_AUTHORISED),
        (fail(402, "pay", error_type="billing_error"), FailureKind.NO_CREDIT),
        (fail(429, "quota", error_type="insufficient_quota"), FailureKind.NO_CREDIT),
        (fail(400, "Your credit balance is too low"), FailureKind.NO_CREDIT),
        (fail(413, "too large"), FailureKind.TOO_LONG),
        (fail(400, "prompt is too long: 9 tokens > 8 maximum"), FailureKind.TOO_LONG),
        (fail(400, "This model's maximum context length is 8 tokens"), FailureKind.TOO_LONG),
        (fail(429, "slow down"), FailureKind.RATE_LIMITED),
        (fail(408, "late"), FailureKind.OVERLOADED),
        (fail(500), FailureKind.OVERLOADED),
        (fail(503), FailureKind.OVERLOADED),
        (fail(529), FailureKind.OVERLOADED),
    ],
    ids=lambda value: str(value.status if isinstance(value, Answer) else value.value),
)
def test_error_of_the_api_has_its_kind(
    llm_stub: LLMStub, name: str, answer: Answer, kind: FailureKind
) -> None:
    failure = failure_of(llm_stub, name, answer)
    assert failure.kind is kind
    assert not failure.may_be_billed
    assert str(answer.status) in str(failure)


@pytest.mark.parametrize("code", ["content_filter", "content_policy_violation", "invalid_prompt"])
@pytest.mark.parametrize("name", ["stub-chat", "stub-responses-streamed"])
def test_blocked_prompt_is_a_refusal(llm_stub: LLMStub, name: str, code: str) -> None:
    answer = fail(400, "blocked", error_code=code)
    assert failure_of(llm_stub, name, answer).kind is FailureKind.REFUSED


@every_model
@pytest.mark.parametrize("fault", [Fault.NEVER_ANSWERS, Fault.STALLED])
@pytest.mark.fault(8, "a provider that never answers, or falls silent after half a reply")
def test_silence_is_a_time_out(llm_stub: LLMStub, name: str, fault: Fault) -> None:
    failure = failure_of(llm_stub, name, go_wrong(fault), timeout_s=0.3)
    assert failure.kind is FailureKind.TIMED_OUT
    assert failure.may_be_billed


@pytest.mark.parametrize("name", STREAMED)
def test_reply_that_drips_is_a_time_out(llm_stub: LLMStub, name: str) -> None:
    answer = say("A reply in many small pieces, each of them in good time.", pause=0.1)
    failure = failure_of(llm_stub, name, answer, timeout_s=0.5)
    assert failure.kind is FailureKind.TIMED_OUT


@every_model
@pytest.mark.fault(8, "the connection to a provider is cut in the middle of a reply")
def test_dropped_connection_is_told_as_such(llm_stub: LLMStub, name: str) -> None:
    failure = failure_of(llm_stub, name, go_wrong(Fault.DROPPED))
    assert failure.kind is FailureKind.UNREACHABLE
    assert failure.may_be_billed


@every_model
@pytest.mark.parametrize("fault", [Fault.TRUNCATED_BODY, Fault.NOT_JSON])
def test_reply_outside_the_protocol_is_unreadable(
    llm_stub: LLMStub, name: str, fault: Fault
) -> None:
    failure = failure_of(llm_stub, name, go_wrong(fault))
    assert failure.kind is FailureKind.UNREADABLE
    assert failure.may_be_billed
    assert not failure.kind.is_temporary


@pytest.mark.parametrize("name", STREAMED)
def test_stream_without_an_end_is_no_reply(llm_stub: LLMStub, name: str) -> None:
    failure = failure_of(llm_stub, name, go_wrong(Fault.NO_END))
    assert failure.kind is FailureKind.UNREACHABLE
    assert failure.may_be_billed


@pytest.mark.parametrize("name", STREAMED)
@pytest.mark.fault(8, "an error after half of a stream")
def test_error_in_the_middle_of_a_stream_is_the_providers(llm_stub: LLMStub, name: str) -> None:
    failure = failure_of(llm_stub, name, go_wrong(Fault.ERROR_IN_STREAM, "sorry"))
    assert failure.kind is FailureKind.OVERLOADED
    assert failure.may_be_billed


@every_model
def test_cut_reply_keeps_what_was_said(llm_stub: LLMStub, name: str) -> None:
    failure = failure_of(llm_stub, name, cut_off('{"text": "and', output_tokens=16))
    assert failure.kind is FailureKind.TRUNCATED
    assert failure.usage.output_tokens == 16
    assert "and" in failure.text


@pytest.mark.parametrize("name", [name for name in NAMES if "tool" not in name])
def test_empty_reply_is_unreadable(llm_stub: LLMStub, name: str) -> None:
    """The input of a tool is at least an empty object."""
    assert failure_of(llm_stub, name, say("")).kind is FailureKind.UNREADABLE


@every_model
def test_nobody_there_is_unreachable_and_free(name: str) -> None:
    class Closed:
        openai_url = "http://127.0.0.1:9/v1"
        anthropic_url = "http://127.0.0.1:9"

    registry = stub_registry(Closed())  # type: ignore[arg-type]
    with (
        Client(registry, environment=ENVIRONMENT, patience=ONCE) as client,
        pytest.raises(ModelFailure) as caught,
    ):
        client.complete(question(name))
    assert caught.value.kind is FailureKind.UNREACHABLE
    assert not caught.value.may_be_billed


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("status", [401, 400, 500])
@pytest.mark.parametrize("key", [KEY, "looks like nothing in particular"])
def test_no_failure_holds_the_key(llm_stub: LLMStub, name: str, status: int, key: str) -> None:
    """Also where the provider repeats it, whole or masked."""
    llm_stub.queue(fail(status, f"Incorrect API key: {key} (sk-stub-****cdef), Bearer {key}"))
    with (
        Client(stub_registry(llm_stub), environment={"STUB_KEY": key}, patience=ONCE) as client,
        pytest.raises(ModelFailure) as caught,
    ):
        client.complete(question(name))
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert key not in told
    assert "cdef" not in told


@every_model
@pytest.mark.parametrize("answer", ["fine", fail(500), go_wrong(Fault.DROPPED)], ids=str)
def test_logs_hold_neither_prompts_nor_keys(
    llm_stub: LLMStub, name: str, answer: str | Answer, caplog: pytest.LogCaptureFixture
) -> None:
    llm_stub.queue(answer)
    with (
        caplog.at_level(logging.DEBUG),
        caplog.at_level(logging.DEBUG, "openai"),
        caplog.at_level(logging.DEBUG, "anthropic"),
        Client(stub_registry(llm_stub), environment=ENVIRONMENT, patience=ONCE) as client,
    ):
        try:
            client.complete(question(name))
        except ModelFailure as failure:
            logging.getLogger("judging").exception("failed: %s", failure)
    assert caplog.records, "nothing was logged, so this test shows nothing"
    assert "private" not in caplog.text
    assert KEY not in caplog.text


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 18 Nov 2026 10:00:30 GMT"}, 30.0),
        ({"retry-after": "Wed, 18 Nov 2026 09:00:00 GMT"}, 0.0),
        (
            {
                "retry-after": "Wed, 18 Nov 2026 12:00:07 GMT",
                "date": "Wed, 18 Nov 2026 12:00:00 GMT",
            },
            7.0,
        ),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
    ],
)
def test_retry_after_in_seconds_and_as_a_date(
    headers: dict[str, str], seconds: float | None
) -> None:
    ten_o_clock = 1_794_996_000.0
    assert retry_after(httpx2.Headers(headers), lambda: ten_o_clock) == seconds
