"""What the agent makes of replies, good and bad, and of providers that fail."""

import json
import re
from dataclasses import replace

import pytest

from tests.webagent.agents.generic.made import (
    Scripted,
    act,
    agent,
    entry,
    long_tree,
    settings,
    text_of,
    whole,
)
from tests.webagent.agents.test_running import Room
from tests.webagent.kept import Kept
from tests.webagent.pages import observation
from webagent.agents.agent import AgentFailure, OutOfBudget
from webagent.agents.generic.agent import GenericAgent
from webagent.agents.generic.request import UnusableReply, read_reply
from webagent.agents.running import run_episode
from webagent.llm.interface import FailureKind, ModelFailure, Usage
from webagent.trajectory.faults import Fault
from webagent.trajectory.live import Decision, StepResult, Taken
from webagent.trajectory.records import EndReason, ErrorOrigin, Outcome

GOOD = act("click('20')")


def test_a_good_reply_becomes_a_decision():
    decision = agent(Scripted(act("click('20')", "The button is there."))).act(observation())
    assert (decision.action, decision.thought) == ("click('20')", "The button is there.")
    assert not decision.finished
    assert not decision.gave_up
    assert decision.problem is None


def test_the_json_form_asks_for_a_schema_and_is_read():
    model = Scripted(json.dumps({"thought": "Yes.", "action": "click('20')"}))
    decision = agent(model, reply="json").act(observation())
    assert (decision.action, decision.thought) == ("click('20')", "Yes.")
    assert model.asked[0].schema is not None
    assert "<action>" not in model.asked[0].system


@pytest.mark.parametrize(
    ("text", "form", "why"),
    [
        ("click('20')", "tags", "no <action>"),
        (f"{GOOD}\n{GOOD}", "tags", "2 times"),
        ("<action>click('20')", "tags", "closing"),
        ("<action></action>", "tags", "closing|no action"),
        ("<action>click('20')\nclick('20')</action>", "tags", "2 actions"),
        ("<action>click('77')</action>", "tags", "no element"),
        ("click('20')", "json", "not a JSON object"),
        ("[1]", "json", "not a JSON object"),
        ("[" * 100_000, "json", "not a JSON object"),
        ('{"thought": "x"}', "json", "no text `action`"),
        ('{"thought": "x", "action": ["click(1)"]}', "json", "no text `action`"),
    ],
)
def test_unusable_replies_say_why(text, form, why):
    with pytest.raises(UnusableReply, match=why):
        read_reply(text, form, settings().allowed, {"20"})


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("I see it.\n<action>```\nclick('20')\n```</action>", "tags"),
        ("<thought>I see it.</thought><action>`click('20')`</action>", "tags"),
        ("<thought>I see it.</thought><action>```python\nclick('20')\n```</action>", "tags"),
        ('```json\n{"thought": "I see it.", "action": "click(\'20\')"}\n```', "json"),
    ],
)
def test_wrappings_are_taken_off(text, form):
    reply = read_reply(text, form, settings().allowed, {"20"})
    assert (reply.thought, reply.action) == ("I see it.", "click('20')")


def test_an_unusable_reply_is_sent_back_with_the_reason():
    model = Scripted("I would click.", act("klick('20')"), GOOD)
    decision = agent(model).act(observation())
    assert decision.action == "click('20')"
    assert [call.problem for call in decision.llm_calls] == [
        "it has no <action>; give exactly one.",
        decision.llm_calls[1].problem,
        None,
    ]
    assert "'klick' is not one of your actions" in (decision.llm_calls[1].problem or "")
    last = model.asked[-1]
    assert [message.role for message in last.messages] == ["user", *["assistant", "user"] * 2]
    assert text_of(last, 1) == "I would click."
    assert "it has no <action>" in text_of(last, 2)
    assert "'klick' is not one of your actions" in text_of(last, 4)
    assert last.system == model.asked[0].system


@pytest.mark.parametrize("retries", [0, 2])
def test_so_many_retries_and_then_a_decision_that_says_so(retries):
    model = Scripted("<thought>Hm.</thought> No.")
    decision = agent(model, max_parse_retries=retries).act(observation())
    assert len(model.asked) == len(decision.llm_calls) == retries + 1
    assert decision.action is None
    assert decision.thought == "Hm."
    assert decision.problem is not None
    assert decision.problem.startswith(f"No usable action in {retries + 1} replies")


def test_after_a_parse_failure_it_may_wait_and_go_on():
    model = Scripted("No.", "No.", GOOD)
    chosen = agent(model, max_parse_retries=1, after_parse_failure="wait")
    assert chosen.act(observation()).action == "noop(1000)"
    assert chosen.act(observation()).action == "click('20')"


@pytest.mark.parametrize("kind", [FailureKind.TRUNCATED, FailureKind.REFUSED])
def test_a_reply_cut_off_or_refused_is_the_agents_and_fed_back(kind):
    failure = ModelFailure(
        kind, "broke off", usage=Usage(input_tokens=50, output_tokens=7), text="I"
    )
    model = Scripted(failure, GOOD)
    decision = agent(model).act(observation())
    assert decision.action == "click('20')"
    first = decision.llm_calls[0]
    assert (first.input_tokens, first.output_tokens, first.problem) == (50, 7, "broke off")
    assert first.cost is not None
    assert text_of(model.asked[1], 1) == "I"


@pytest.mark.parametrize(
    ("kind", "fault", "retriable"),
    [
        (FailureKind.RATE_LIMITED, Fault.PROVIDER_RATE_LIMITED, True),
        (FailureKind.OVERLOADED, Fault.PROVIDER_OVERLOADED, True),
        (FailureKind.TIMED_OUT, Fault.PROVIDER_UNREACHABLE, True),
        (FailureKind.UNREADABLE, Fault.PROVIDER_OVERLOADED, True),
        (FailureKind.NOT_AUTHORISED, Fault.PROVIDER_OTHER, False),
        (FailureKind.REJECTED, Fault.PROVIDER_OTHER, False),
    ],
)
def test_a_provider_that_fails_is_no_fault_of_the_agents(kind, fault, retriable):
    model = Scripted("No.", ModelFailure(kind, "no luck"))
    with pytest.raises(AgentFailure, match="no luck") as caught:
        agent(model).act(observation())
    failure = caught.value
    assert (failure.origin, failure.kind) == (ErrorOrigin.MODEL, kind.value)
    assert failure.fault is fault
    assert failure.retriable is retriable
    assert [call.problem is not None for call in failure.decision.llm_calls] == [True, True]
    assert len(failure.decision.blobs) == 4


@pytest.mark.slow
def test_a_model_that_counts_more_tokens_gets_a_shorter_prompt_from_then_on():
    too_long = ModelFailure(FailureKind.TOO_LONG, "too long")
    model = Scripted(too_long, too_long, GOOD)
    chosen = agent(model)
    seen = observation("RootWebArea 'x'\n" + "\n".join(f"\t[{n}] button 'b'" for n in range(900)))
    chosen.act(seen)
    lengths = [len(whole(request)) for request in model.asked]
    assert lengths[0] > lengths[1] > lengths[2]
    chosen.act(seen)
    assert len(whole(model.asked[3])) < lengths[1]


@pytest.mark.slow
def test_a_model_that_is_never_content_with_the_length_fails():
    model = Scripted(ModelFailure(FailureKind.TOO_LONG, "too long"))
    with pytest.raises(AgentFailure, match="too long") as caught:
        agent(model).act(observation(long_tree(900)))
    assert caught.value.origin is ErrorOrigin.MODEL
    assert len(model.asked) == 4


def test_a_prompt_that_cannot_fit_is_said():
    with pytest.raises(AgentFailure, match="max_prompt_tokens") as caught:
        agent(Scripted(GOOD), max_prompt_tokens=500).act(observation())
    assert caught.value.retriable is False


def test_the_next_prompt_tells_what_was_thought_done_and_failed():
    model = Scripted(GOOD)
    chosen = agent(model)
    chosen.act(observation())
    chosen.act(observation(last_error="TimeoutError: it hid"))
    text = text_of(model.asked[1])
    assert "Step 0, thought: So it is.\nStep 0, action (failed): click('20')" in text
    assert "TimeoutError: it hid" in text


def test_its_memory_can_be_set():
    model = Scripted(GOOD)
    chosen = agent(model)
    chosen.act(observation())
    other = Decision(action="hover('16')", thought="Somebody else's.")
    chosen.resume_from([Taken(before=observation(), decision=other, error="Error: no")])
    chosen.act(observation())
    text = text_of(model.asked[1])
    assert "Step 0, thought: Somebody else's.\nStep 0, action (failed): hover('16')" in text
    assert "So it is." not in text


def test_giving_up_and_messages():
    chosen = agent(Scripted(act("report_infeasible('no form')")))
    assert chosen.act(observation()).gave_up
    said = act("send_msg_to_user('Done.')")
    assert not agent(Scripted(said)).act(observation()).finished
    assert agent(Scripted(said), ends_with_message=True).act(observation()).finished


def test_every_prompt_and_reply_is_kept_whole():
    model = Scripted("No.", GOOD)
    seen = observation()
    decision = agent(model, observation="both", marks=True).act(seen)
    assert decision.marked_screenshot is not None
    for request, call, said in zip(model.asked, decision.llm_calls, ("No.", GOOD), strict=True):
        assert call.request is not None
        assert call.response is not None
        kept = json.loads(decision.blobs[call.request.sha256])
        assert kept["system"] == request.system
        assert kept["messages"][0]["parts"][0]["text"] == text_of(request)
        assert len(kept["messages"][0]["parts"][1]["image_sha256"]) == 64
        assert json.loads(decision.blobs[call.response.sha256])["text"] == said
        assert (call.model, call.input_tokens, call.output_tokens) == ("m-1-served", 100, 9)


def test_settings_make_the_agent_again_and_name_the_prompts():
    told = agent(Scripted(GOOD), tips="Look.", actions=["click", "chat"]).describe()
    again = GenericAgent(settings(**(told.config or {})), Scripted(GOOD), entry())
    assert again.describe() == told
    assert re.fullmatch(r"prompts 1 \([0-9a-f]{12}\), pages cut \d+", told.version or "")


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"marks": True}, "no picture"),
        ({"observation": "screenshot"}, "coordinates"),
        ({"benchmark": "webarea"}, "webarena"),
        ({"actions": ["mouse"]}, "mouse"),
        ({"prompts": "0"}, "there are: 1"),
        ({"examples": 2}, "examples"),
        ({"speed": 2}, "speed"),
        ({"max_steps": 0}, "max_steps"),
    ],
)
def test_settings_that_do_not_fit_are_refused(config, why):
    with pytest.raises(ValueError, match=why):
        settings(**config)


def run(model: Scripted, *results: StepResult, **config: object):
    kept = Kept()
    record = run_episode(
        "room",
        agent(model, **config),
        run_id="r",
        sink=kept,
        environment=Room(*results),
        max_steps=3,
    )
    return record, kept.steps, kept.blobs


def test_a_run_records_calls_blobs_marks_and_sums():
    record, steps, kept = run(Scripted("No.", GOOD), observation="both", marks=True)
    assert record.end_reason == EndReason.MAX_STEPS
    assert record.models == ("m-1-served",)
    assert (record.totals.input_tokens, record.totals.llm_calls) == (400, 4)
    assert [len(step.llm_calls) for step in steps] == [2, 1, 1]
    for step in steps:
        assert step.before.marked_screenshot.sha256 in kept
        for call in step.llm_calls:
            sent = json.loads(kept[call.request.sha256])
            assert sent["messages"][0]["parts"][1]["image_sha256"] in kept
            assert call.response.sha256 in kept


def test_a_run_of_an_agent_without_a_usable_action_is_its_failure():
    record, steps, _ = run(Scripted("No."), max_parse_retries=1)
    assert (record.outcome, record.end_reason) == (Outcome.FAILURE, EndReason.AGENT_STOPPED)
    assert record.error is None
    assert steps[0].actions == ()
    assert steps[0].extra["problem"].startswith("No usable action in 2 replies")


def test_a_run_whose_provider_fails_is_an_error_that_keeps_its_cost():
    failure = ModelFailure(FailureKind.NOT_AUTHORISED, "bad key")
    record, steps, kept = run(Scripted("No.", failure))
    assert (record.outcome, record.error.origin) == (Outcome.ERROR, ErrorOrigin.MODEL)
    assert record.extra == {
        "error_kind": "not_authorised",
        "retriable": False,
        "unpriced_calls": 1,  # the first one, which said no
    }
    assert record.totals.input_tokens == 100
    assert len(steps[0].llm_calls) == 2
    assert steps[0].llm_calls[1].request.sha256 in kept


def test_a_run_over_its_budget_ends_at_the_limit():
    record, steps, _ = run(Scripted(GOOD, ModelFailure(FailureKind.OUT_OF_BUDGET, "spent")))
    assert (record.outcome, record.end_reason) == (Outcome.FAILURE, EndReason.COST_LIMIT)
    assert record.error is None
    assert len(steps) == 2
    with pytest.raises(OutOfBudget):
        agent(Scripted(ModelFailure(FailureKind.OUT_OF_BUDGET, "spent"))).act(observation())


def test_an_account_without_credit_is_an_error_and_no_failure_of_the_agent():
    record, _, _ = run(Scripted(ModelFailure(FailureKind.NO_CREDIT, "pay first")))
    assert (record.outcome, record.end_reason) == (Outcome.ERROR, EndReason.EXCEPTION)
    assert record.error.origin is ErrorOrigin.MODEL
    assert record.extra == {"error_kind": "no_credit", "retriable": False}


def test_unknown_bids_are_not_known_where_the_page_has_none():
    seen = replace(observation(), boxes={})
    assert agent(Scripted(GOOD)).act(seen).action == "click('20')"
