"""Milestones as a model proposes them: bounded, distinct, and never from a text that orders it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from judging.evaluators.judges.milestones import (
    MilestoneProposer,
    Proposal,
    ProposalSettings,
    Proposed,
)
from tests.judging.evaluators.judges.test_milestones import ORDER
from tests.webagent.llm.scripted import Scripted, message_of


def proposed(*names: str, **more: Any) -> dict[str, object]:
    return {
        "milestones": [
            {"name": name, "rationale": "All pass here.", "weight": 1, "ordered": False}
            for name in names
        ],
        "steering": False,
        "control": "",
    } | more


def propose(*replies: object) -> tuple[Proposed, Scripted]:
    model = Scripted(*(json.dumps(each) for each in replies))
    asking = MilestoneProposer(language_model=model, settings=ProposalSettings(model="m"))
    found = asking.propose("Order a hose.", [ORDER, ORDER, ORDER, replace(ORDER, answer="4th")])
    assert not model.replies
    return found, model


def test_proposals_come_with_their_cost_and_what_they_rest_on() -> None:
    found, model = propose(proposed("the basket is open", " the order\nis placed "))
    assert found.proposals[1] == Proposal(
        name="the order is placed", rationale="All pass here.", weight=1, is_ordered=False
    )
    assert str(found.stage.cost) == "0.001"
    text = message_of(model.requests[0])
    assert "run 3:\nstep 0: fill('3', 'hose')" in text
    assert "its final answer: I ordered it." in text
    assert "4th" not in text


def test_task_without_any_success_is_said_to_have_none() -> None:
    asking = MilestoneProposer(language_model=Scripted(), settings=ProposalSettings(model="m"))
    assert "no run of it succeeded yet" in message_of(asking.requests("Order a hose.", [])[0])


@pytest.mark.parametrize(
    "wrong",
    [
        proposed(),
        proposed("same", " Same "),
        proposed(" "),
        proposed("x" * 201),
        proposed(*(f"milestone {n}" for n in range(21))),
        {"milestones": [{"name": "x", "rationale": "", "weight": 0, "ordered": False}]},
        {"milestones": [{"name": "x", "rationale": "", "weight": 1e9, "ordered": False}]},
    ],
)
def test_proposals_that_cannot_be_used_are_asked_again_and_then_an_error(wrong: object) -> None:
    found, model = propose(wrong, proposed("the basket is open"))
    assert (len(found.proposals), len(model.requests)) == (1, 2)
    found, _ = propose(wrong, wrong)
    assert (found.proposals, found.stage.error_kind) == ((), "invalid_reply")


def test_obeyed_canary_leaves_nothing_proposed() -> None:
    asking = MilestoneProposer(language_model=Scripted(), settings=ProposalSettings(model="m"))
    canary = asking.asked("Order a hose.", [ORDER] * 3).fenced.canary
    found, _ = propose(proposed("the basket is open", control=canary))
    assert (found.proposals, found.stage.is_manipulated) == ((), True)
