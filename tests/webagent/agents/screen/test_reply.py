"""Replies of the screenshot-only agent, good and bad."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webagent.agents.screen.made import click, said
from webagent.agents.generic.request import UnusableReply
from webagent.agents.screen.reply import SCHEMA, read_reply

SIZE = (498, 321)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def test_a_reply_is_thoughts_and_commands():
    reply = read_reply(said(click(36, 68), {"name": "press_key", "key": "C-a"}), SIZE)
    assert [command.name for command in reply.commands] == ["click", "press_key"]
    assert reply.said == "So it is.\n\nPlan: One step."


def test_a_fence_around_it_does_no_harm():
    assert read_reply(f"```json\n{said(click(1, 1))}\n```", SIZE).commands


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("I click on it.", "JSON"),
        ("[]", "object"),
        ("{}", "thought"),
        (said({"name": "clik", "x": 1, "y": 1}), "clik.*double_click"),
        (said({"name": "click", "x": 1}), "commands.0.click.y"),
        (said({"name": "click", "x": 1, "y": 2, "z": 3}), "commands.0.click.z"),
        (said({"name": "press_key", "key": "Tab"}), "C-a"),
        (said({"name": "type_text", "text": ""}), "commands.0.type_text.text"),
        (said(click(498, 1)), "498 pixels wide"),
        (said(click(1, 1), click(1, -1)), "commands.1"),
        (said(*[click(1, 1)] * 51), "50"),
    ],
)
def test_what_is_wrong_is_said(text, why):
    with pytest.raises(UnusableReply, match=why):
        read_reply(text, SIZE)


def test_the_thought_of_a_reply_that_points_outside_is_kept():
    with pytest.raises(UnusableReply) as caught:
        read_reply(said(click(9999, 1), thought="There."), SIZE)
    assert caught.value.thought == "There.\n\nPlan: One step."


@given(st.text(max_size=200) | JSON.map(json.dumps))
def test_anything_is_a_reply_or_said_to_be_none(text):
    try:
        reply = read_reply(text, SIZE)
    except UnusableReply:
        return
    assert isinstance(reply.commands, list)


def objects(schema: object) -> list[dict[str, Any]]:
    """Every part of a schema that is one of an object."""
    if isinstance(schema, list):
        return [found for part in schema for found in objects(part)]
    if not isinstance(schema, dict):
        return []
    inner = objects(list(schema.values()))
    return [schema, *inner] if "properties" in schema else inner


def test_the_schema_is_one_that_providers_hold_models_to():
    assert len(found := objects(SCHEMA)) == 4
    for each in found:
        assert each["additionalProperties"] is False
        assert set(each["required"]) == set(each["properties"])
    assert "oneOf" not in json.dumps(SCHEMA)
