"""Whatever a server sends, there is a reply or a failure with a kind, and never anything else."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.webagent.llm.stub import Answer, LLMStub, running_stub
from tests.webagent.llm.stub_models import ENVIRONMENT, NAMES, stub_registry
from webagent.llm.client import Client, RetryLimits
from webagent.llm.interface import Message, ModelFailure, Request

WORDS = (
    "id",
    "type",
    "role",
    "model",
    "content",
    "text",
    "status",
    "output",
    "output_text",
    "usage",
    "input_tokens",
    "output_tokens",
    "choices",
    "message",
    "delta",
    "finish_reason",
    "stop",
    "stop_reason",
    "end_turn",
    "tool_use",
    "input",
    "refusal",
    "error",
    "code",
    "response",
    "response.completed",
    "response.failed",
    "message_start",
    "message_delta",
    "message_stop",
    "content_block_delta",
    "index",
    "incomplete_details",
    "reason",
    "completed",
    "server_error",
    "prompt_tokens",
)
words = st.sampled_from(WORDS) | st.text(max_size=3)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=5),
    max_leaves=12,
)
bodies = st.binary(max_size=40) | values.map(lambda value: json.dumps(value).encode())


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[LLMStub, Client]]:
    with (
        running_stub() as stub,
        Client(
            stub_registry(stub), environment=ENVIRONMENT, patience=RetryLimits(max_tries=1)
        ) as client,
    ):
        yield stub, client


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(body=bodies)
def test_any_body_is_a_reply_or_a_failure(
    server: tuple[LLMStub, Client], name: str, body: bytes
) -> None:
    stub, client = server
    stub.queue(Answer(raw=body))
    try:
        reply = client.complete(Request(model=name, messages=(Message.user("hello"),)))
    except ModelFailure:
        return
    assert reply.text
