"""What is sent to each provider and what its reply becomes, by the real SDKs over HTTP."""

import json
from decimal import Decimal

import pytest

from tests.webagent.llm.stub import LLMStub, refuse, say
from tests.webagent.llm.stub_models import ENVIRONMENT, KEY, NAMES, stub_entry
from webagent.llm.client import Client
from webagent.llm.interface import FailureKind, ImagePart, Message, ModelFailure, Request, TextPart
from webagent.llm.registry import Registry

SCHEMA = {
    "type": "object",
    "properties": {"same": {"type": "boolean"}},
    "required": ["same"],
    "additionalProperties": False,
}
every_model = pytest.mark.parametrize("name", NAMES)


def ask(model: str, text: str = "Is it the same?", **more: object) -> Request:
    return Request(model=model, messages=(Message.user(text),), **more)  # type: ignore[arg-type]


def one_model(stub: LLMStub, name: str, **more: object) -> Client:
    return Client(Registry({name: stub_entry(stub, name, **more)}), environment=ENVIRONMENT)


@every_model
def test_reply_says_what_the_model_said(llm_stub: LLMStub, llm_client: Client, name: str) -> None:
    llm_stub.queue(say("Yes, they are – 同じ. 👍", model="as-served-2"))
    reply = llm_client.complete(ask(name))
    assert reply.text == "Yes, they are – 同じ. 👍"
    assert reply.model == "as-served-2"
    assert reply.request_id == "req_stub_1"
    assert reply.tries == 1
    assert not reply.is_cached
    assert reply.seconds > 0


@every_model
def test_streaming_is_as_the_entry_says(llm_stub: LLMStub, llm_client: Client, name: str) -> None:
    llm_client.complete(ask(name))
    assert llm_stub.asked[0].is_stream is name.endswith("-streamed")


@every_model
def test_question_arrives_whole(llm_stub: LLMStub, llm_client: Client, name: str) -> None:
    request = Request(
        model=name,
        system="You compare answers.",
        messages=(
            Message.user("First question"),
            Message.assistant("First answer"),
            Message.user("Second question"),
        ),
        max_tokens=321,
    )
    llm_client.complete(request)
    asked = llm_stub.asked[0]
    assert asked.model == f"{name}-id"
    assert asked.system == "You compare answers."
    assert asked.messages == (
        ("user", "First question"),
        ("assistant", "First answer"),
        ("user", "Second question"),
    )
    limits = ("max_tokens", "max_output_tokens", "max_completion_tokens")
    assert [asked.body[limit] for limit in limits if limit in asked.body] == [321]
    assert asked.headers["authorization"] == f"Bearer {KEY}"


@every_model
def test_schema_is_asked_for_strictly(llm_stub: LLMStub, llm_client: Client, name: str) -> None:
    llm_stub.queue('{"same": true}')
    reply = llm_client.complete(ask(name, schema=SCHEMA, schema_name="verdict"))
    assert json.loads(reply.text) == {"same": True}
    asked = llm_stub.asked[0]
    assert asked.schema == SCHEMA
    if "chat" in name:
        assert asked.body["response_format"]["json_schema"]["strict"] is True
        assert asked.body["response_format"]["json_schema"]["name"] == "verdict"
    if "responses" in name:
        assert asked.body["text"]["format"]["strict"] is True
    if "tool" in name:
        assert asked.body["tool_choice"] == {"type": "tool", "name": "verdict"}


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("stub-responses", "object"),
        ("stub-responses", "prompt"),
        ("stub-chat", "object"),
        ("stub-chat-streamed", "prompt"),
        ("stub-messages", "prompt"),
    ],
)
def test_server_without_schemas_is_told_in_the_prompt(
    llm_stub: LLMStub, name: str, mode: str
) -> None:
    with one_model(llm_stub, name, schema_mode=mode) as client:
        client.complete(ask(name, system="Judge.", schema=SCHEMA))
    asked = llm_stub.asked[0]
    assert asked.schema is None
    assert asked.system.startswith("Judge.\n\n")
    assert json.loads(asked.system.splitlines()[-1]) == SCHEMA
    assert ("json_object" in json.dumps(asked.body)) is (mode == "object")


@every_model
def test_pictures_arrive_byte_for_byte(llm_stub: LLMStub, llm_client: Client, name: str) -> None:
    first, second = bytes(range(256)), b"\x89PNG second"
    parts = (
        TextPart("Before"),
        ImagePart(first, "image/png"),
        TextPart("After"),
        ImagePart(second, "image/jpeg"),
    )
    llm_client.complete(Request(model=name, messages=(Message("user", parts),)))
    assert llm_stub.asked[0].images == (first, second)
    assert llm_stub.asked[0].text == "BeforeAfter"
    assert "image/jpeg" in json.dumps(llm_stub.asked[0].body)


@every_model
def test_tokens_are_counted_and_priced(llm_stub: LLMStub, llm_client: Client, name: str) -> None:
    written = 300 if "messages" in name or "tool" in name else 0
    llm_stub.queue(
        say(
            "ok", input_tokens=1000, output_tokens=50, cached_tokens=600, cache_write_tokens=written
        )
    )
    reply = llm_client.complete(ask(name))
    assert reply.usage.input_tokens == 1000
    assert reply.usage.output_tokens == 50
    assert reply.usage.cached_tokens == 600
    assert reply.usage.cache_write_tokens == written
    # Per million: input 2, cached 0.5, written 2.5, output 10.
    millionths = (400 - written) * 2 + 300 + int(written * 2.5) + 500
    assert reply.cost == Decimal(millionths) / 1_000_000


@every_model
def test_without_prices_the_cost_is_unknown(llm_stub: LLMStub, name: str) -> None:
    with one_model(llm_stub, name, prices=None) as client:
        assert client.complete(ask(name)).cost is None


def test_temperature_goes_where_it_is_taken(llm_stub: LLMStub, llm_client: Client) -> None:
    for name in ("stub-responses", "stub-chat", "stub-messages"):
        llm_client.complete(ask(name, temperature=0.0))
    temperatures = [asked.body.get("temperature") for asked in llm_stub.asked]
    assert temperatures == [0.0, 0.0, None]


def test_temperature_left_to_the_provider_is_not_sent(
    llm_stub: LLMStub, llm_client: Client
) -> None:
    llm_client.complete(ask("stub-chat", temperature=None))
    assert "temperature" not in llm_stub.asked[0].body


def test_model_that_refuses_a_temperature_gets_none(llm_stub: LLMStub) -> None:
    with one_model(llm_stub, "stub-responses", temperature=False) as client:
        client.complete(ask("stub-responses", temperature=0.0))
    assert "temperature" not in llm_stub.asked[0].body


def test_older_version_of_anthropic_takes_a_temperature(llm_stub: LLMStub) -> None:
    with one_model(llm_stub, "stub-messages", api_version="2023-06-01") as client:
        client.complete(ask("stub-messages", temperature=0.0))
    assert llm_stub.asked[0].body["temperature"] == 0.0
    assert llm_stub.asked[0].headers["anthropic-version"] == "2023-06-01"


def test_openai_keeps_nothing(llm_stub: LLMStub, llm_client: Client) -> None:
    llm_client.complete(ask("stub-responses"))
    assert llm_stub.asked[0].body["store"] is False


def test_compatible_server_gets_plain_text_and_the_limit_it_knows(llm_stub: LLMStub) -> None:
    with one_model(llm_stub, "stub-chat", max_tokens_field="max_tokens") as client:
        client.complete(ask("stub-chat", "plain", max_tokens=77))
    body = llm_stub.asked[0].body
    assert body["messages"] == [{"role": "user", "content": "plain"}]
    assert body["max_tokens"] == 77
    assert "max_completion_tokens" not in body


def test_extra_joins_what_we_say_and_never_replaces_it(llm_stub: LLMStub) -> None:
    extra = {"output_config": {"effort": "low", "format": "mine"}, "max_tokens": 1}
    with one_model(llm_stub, "stub-messages", extra=extra) as client:
        client.complete(ask("stub-messages", schema=SCHEMA, max_tokens=99))
    body = llm_stub.asked[0].body
    assert body["output_config"]["effort"] == "low"
    assert body["output_config"]["format"]["schema"] == SCHEMA
    assert body["max_tokens"] == 99


def conversation(name: str) -> Request:
    return Request(
        model=name,
        system="A long guideline",
        messages=(Message.user("long"), Message.assistant("yes"), Message.user("question")),
        is_prefix_cached=True,
    )


@pytest.mark.parametrize("name", ["stub-messages", "stub-messages-streamed"])
def test_anthropic_keeps_what_comes_before_the_last_message(
    llm_stub: LLMStub, llm_client: Client, name: str
) -> None:
    llm_client.complete(conversation(name))
    llm_client.complete(ask(name, system="A long guideline", is_prefix_cached=True))
    first, second = (asked.body for asked in llm_stub.asked)
    marked = {"type": "ephemeral"}
    assert first["messages"][1]["content"][-1]["cache_control"] == marked
    assert json.dumps(first).count("cache_control") == 1
    assert second["system"][-1]["cache_control"] == marked
    assert json.dumps(second).count("cache_control") == 1


def test_prefix_is_not_kept_where_that_would_cost_nobody_knows_what(llm_stub: LLMStub) -> None:
    with one_model(llm_stub, "stub-messages", prices={"input": 1, "output": 2}) as client:
        client.complete(conversation("stub-messages"))
    assert "cache_control" not in json.dumps(llm_stub.asked[0].body)


@every_model
def test_half_of_a_surrogate_pair_does_no_harm(
    llm_stub: LLMStub, llm_client: Client, name: str
) -> None:
    llm_client.complete(ask(name, "page said \ud83d here", system="\udc00"))
    assert llm_stub.asked[0].text == "page said \ufffd here"


@every_model
def test_refusal_says_so_and_keeps_the_words(
    llm_stub: LLMStub, llm_client: Client, name: str
) -> None:
    llm_stub.queue(refuse("I would rather not.", output_tokens=7))
    with pytest.raises(ModelFailure) as caught:
        llm_client.complete(ask(name))
    assert caught.value.kind is FailureKind.REFUSED
    assert caught.value.text == "I would rather not."
    assert caught.value.usage.output_tokens == 7
    assert len(llm_stub.asked) == 1
