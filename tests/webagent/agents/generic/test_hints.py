"""Hints that are given to an agent: the same at every step, and not part of what it is."""

import pytest
from pydantic import ValidationError

from tests.webagent.agents.generic.made import Scripted, act, agent, settings
from tests.webagent.pages import observation
from webagent.agents.agent import Advisable


def test_the_same_text_stands_at_the_head_at_every_step() -> None:
    model = Scripted("no action", act("click('20')"))
    hinted = agent(model, hints="concrete.same_task.0f")
    hinted.advise("1. Press the only button.")

    for _ in range(2):
        hinted.act(observation())

    heads = {request.system.partition("</tips>")[0] for request in model.asked}
    assert len(model.asked) == 3
    assert len(heads) == 1
    assert heads.pop().startswith("<tips>")
    assert all("1. Press the only button." in request.system for request in model.asked)


def test_its_description_names_the_set_and_not_the_text() -> None:
    hinted = agent(Scripted(act("noop()")), hints="concrete.same_task.0f")
    before = hinted.describe()
    hinted.advise("1. Press the only button.")

    assert isinstance(hinted, Advisable)
    assert hinted.describe() == before
    assert (before.config or {})["hints"] == "concrete.same_task.0f"


def test_without_hints_a_configuration_is_what_it_was_before_there_were_any() -> None:
    assert "hints" not in settings().as_json()


def test_tips_and_hints_exclude_each_other() -> None:
    with pytest.raises(ValidationError, match="give one of the two"):
        settings(tips="Look.", hints="concrete.same_task.0f")
