"""Two requests have one key exactly when the model could not tell them apart."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webagent.llm.budget import cache_key
from webagent.llm.interface import ImagePart, Message, Request, TextPart
from webagent.llm.registry import ModelEntry

ENTRY = ModelEntry.model_validate(
    {"name": "judge", "provider": "openai", "model": "m", "prices": {"input": 1, "output": 2}}
)
texts = st.text(max_size=8)
images = st.builds(
    ImagePart, st.binary(max_size=4), st.sampled_from(["image/png", "image/jpeg", "image/webp"])
)
messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant"]),
    st.lists(st.builds(TextPart, texts) | images, max_size=3).map(tuple),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
schemas = st.none() | st.dictionaries(texts, json_values, max_size=4)
requests = st.builds(
    Request,
    model=st.just("judge"),
    messages=st.lists(messages, max_size=3).map(tuple),
    system=texts,
    schema=schemas,
    schema_name=texts,
    max_tokens=st.integers(1, 4),
    temperature=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
)


def typed(value: Any) -> Any:
    """A value in which True, 1 and 1.0 differ, as they do in JSON."""
    if isinstance(value, dict):
        return {key: typed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [typed(inner) for inner in value]
    return (type(value).__name__, value)


def seen_by_the_model(request: Request) -> Any:
    schema = None if request.schema is None else typed(dict(request.schema))
    return replace(request, schema=None), schema


@given(requests, requests)
def test_different_requests_differ_and_equal_ones_do_not(one: Request, other: Request) -> None:
    same = seen_by_the_model(one) == seen_by_the_model(other)
    assert (cache_key(one, ENTRY) == cache_key(other, ENTRY)) is same


def turned_round(value: object) -> object:
    if isinstance(value, dict):
        return {key: turned_round(inner) for key, inner in reversed(value.items())}
    if isinstance(value, list):
        return [turned_round(inner) for inner in value]
    return value


@given(requests)
def test_order_of_keys_does_not_matter(request: Request) -> None:
    schema = None if request.schema is None else turned_round(dict(request.schema))
    other = replace(request, schema=schema)  # type: ignore[arg-type]
    assert cache_key(request, ENTRY) == cache_key(other, ENTRY)


@given(requests)
def test_key_is_a_hash_in_hex(request: Request) -> None:
    key = cache_key(request, ENTRY)
    assert len(key) == 64
    assert int(key, 16) >= 0


ONE = Request(model="judge", messages=(Message.user("question"),), system="judge")


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"provider": "anthropic", "api": "messages", "temperature": False},
        {"api": "chat"},
        {"base_url": "http://127.0.0.1:8001/v1"},
        {"schema_mode": "prompt"},
        {"temperature": False},
        {"extra": {"reasoning": {"effort": "low"}}},
    ],
    ids=str,
)
def test_what_shapes_the_reply_is_in_the_key(change: dict[str, Any]) -> None:
    other = ModelEntry.model_validate(ENTRY.model_dump(exclude_unset=True) | change)
    assert cache_key(ONE, other) != cache_key(ONE, ENTRY)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"prices": None},
        {"max_concurrency": 9},
        {"timeout_s": 9.0},
        {"streaming": True},
        {"api_key_env": "OTHER_KEY"},
        {"context_tokens": 9},
        {"max_image_tokens": 9},
    ],
    ids=str,
)
def test_what_does_not_shape_the_reply_is_not(change: dict[str, Any]) -> None:
    other = ModelEntry.model_validate(ENTRY.model_dump(exclude_unset=True) | change)
    assert cache_key(ONE, other) == cache_key(ONE, ENTRY)


def test_keeping_a_prefix_does_not_shape_the_reply() -> None:
    assert cache_key(replace(ONE, is_prefix_cached=True), ENTRY) == cache_key(ONE, ENTRY)


def test_key_is_the_same_tomorrow() -> None:
    """A change of this value loses every reply that installations have kept."""
    assert cache_key(ONE, ENTRY) == (
        "421e28b83a84fae1f8bca6d90c8a4a1e7be51f200479d5433faf7f5a54dc79a6"
    )
