"""The agent over the real SDKs, against a server of our own, without a browser and in one."""

import json
import re
from decimal import Decimal
from typing import Any

import pytest

from tests.webagent.agents.generic.made import act, settings
from tests.webagent.kept import Kept
from tests.webagent.llm.protocols import Asked
from tests.webagent.llm.stub import Answer, say
from tests.webagent.llm.stub_models import STREAMED, WHOLE, stub_entry
from tests.webagent.pages import observation
from webagent.agents.generic.agent import GenericAgent
from webagent.agents.running import run_episode
from webagent.llm.client import Client
from webagent.trajectory.records import Outcome


def make(client: Client, model: str, **more: object) -> GenericAgent:
    return GenericAgent(settings(model=model, **more), client, client.registry.entry(model))


@pytest.mark.parametrize("model", WHOLE + STREAMED)
@pytest.mark.parametrize("form", ["tags", "json"])
def test_every_protocol_in_both_forms(llm_stub, llm_client, model, form):
    good = json.dumps({"thought": "Yes.", "action": "click('20')"})
    llm_stub.reply = lambda asked: good if form == "json" else act("click('20')", "Yes.")
    decision = make(llm_client, model, reply=form).act(observation())
    assert (decision.action, decision.thought) == ("click('20')", "Yes.")
    (asked,) = llm_stub.asked
    assert (asked.schema is not None) == (form == "json")
    (call,) = decision.llm_calls
    assert call.model == f"{stub_entry(llm_stub, model).model}-as-served"
    assert call.input_tokens
    assert call.cost


@pytest.mark.parametrize("model", WHOLE)
def test_the_screenshot_is_really_in_the_request(llm_stub, llm_client, model):
    llm_stub.reply = lambda asked: act("click('20')")
    seen = observation()
    make(llm_client, model, observation="both").act(seen)
    assert llm_stub.asked[0].images == (seen.screenshot,)
    decision = make(llm_client, model, observation="both", marks=True).act(seen)
    assert llm_stub.asked[1].images == (decision.marked_screenshot,)


def test_cached_tokens_and_cost_are_kept(llm_stub, llm_client):
    llm_stub.queue(say(act("click('20')"), input_tokens=1000, cached_tokens=800, output_tokens=10))
    (call,) = make(llm_client, "stub-messages").act(observation()).llm_calls
    assert (call.input_tokens, call.cached_tokens, call.output_tokens) == (1000, 800, 10)
    assert call.cost == Decimal("0.0009")
    system = llm_stub.asked[0].body["system"]
    assert system[-1]["cache_control"] == {"type": "ephemeral"}


def finds_the_button(asked: Asked) -> str:
    """A model that reads the prompt: it clicks on the button that it finds on the page."""
    found = re.search(r"\[(\w+)\] button 'Click Me!'", asked.messages[0][1])
    return act(f"click('{found[1]}')" if found else "noop()", "The goal is to click the button.")


def in_browser(client: Client, **more: object) -> tuple[Any, list[Any], dict[str, bytes]]:
    kept = Kept()
    record = run_episode(
        "miniwob.click-test",
        make(client, "stub-chat", benchmark="miniwob", **more),
        run_id="r1",
        sink=kept,
        seed=3,
        max_steps=4,
    )
    return record, kept.steps, kept.blobs


@pytest.mark.browser
def test_a_model_that_reads_the_prompt_solves_a_task(llm_stub, llm_client):
    llm_stub.reply = finds_the_button
    record, steps, kept = in_browser(llm_client, observation="both", marks=True)
    assert record.outcome == Outcome.SUCCESS
    (step,) = steps
    (call,) = step.llm_calls
    assert step.actions[0].target.text == "Click Me!"
    assert llm_stub.asked[0].images == (kept[step.before.marked_screenshot.sha256],)
    assert kept[step.before.screenshot.sha256] != kept[step.before.marked_screenshot.sha256]
    assert json.loads(kept[call.response.sha256])["text"] == finds_the_button(llm_stub.asked[0])
    sent = json.loads(kept[call.request.sha256])
    assert sent["messages"][0]["parts"][0]["text"] == llm_stub.asked[0].text
    assert record.totals.cost


@pytest.mark.browser
def test_a_model_recovers_from_a_parse_error_and_from_a_failed_action(llm_stub, llm_client):
    def reply(asked: Asked) -> Answer | str:
        if len(llm_stub.asked) == 1:
            return "Let me click it: click(the button)"
        if len(llm_stub.asked) == 2:
            assert "no <action>" in asked.text
            return act("press('13', 'NoSuchKey')")
        assert "Your last action failed" in asked.messages[0][1]
        return finds_the_button(asked)

    llm_stub.reply = reply
    record, steps, _ = in_browser(llm_client)
    assert record.outcome == Outcome.SUCCESS
    assert [len(step.llm_calls) for step in steps] == [2, 1]
    assert steps[0].llm_calls[0].problem
    assert steps[0].actions[0].error
