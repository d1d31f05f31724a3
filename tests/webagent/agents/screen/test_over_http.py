"""Whole runs of the screenshot-only agents, over the real protocol and in a real browser."""

import json
import re

import pytest

from tests.webagent.agents.screen.made import LOGIN, click, looked, said, settings, showing
from tests.webagent.kept import Kept
from tests.webagent.llm.protocols import Asked
from tests.webagent.llm.stub_models import WHOLE
from webagent.agents.agent import Agent
from webagent.agents.registry import make_agent
from webagent.agents.running import run_episode
from webagent.agents.screen.agent import INSTRUCTION_AREAS, ScreenAgent
from webagent.environment.miniwob import HOST
from webagent.llm.client import Client
from webagent.trajectory.live import Observation
from webagent.trajectory.records import Outcome, RunRecord
from webagent.vision.screen import Box, ScreenItem, ScreenText

GOAL_LINK = re.compile(r'link "([^"]+)"')


def play(task: str, agent: Agent, kept: Kept, seed: int = 3) -> RunRecord:
    return run_episode(f"miniwob.{task}", agent, run_id="r", sink=kept, seed=seed, max_steps=10)


def tabs_and_links(observation: Observation) -> ScreenText:
    """Tabs and links of a page, from what the browser knows of them: sight is tested elsewhere."""
    items = []
    for number, node in enumerate(observation.nodes):
        box = observation.boxes.get(node.bid or "")
        is_link = node.role == "generic" and node.has("clickable")
        if box is None or box.width < 1 or not (is_link or node.role == "tab"):
            continue
        text = observation.nodes[number + 1].name if is_link else node.name
        corners = (box.x, box.y, box.x + box.width, box.y + box.height)
        place = Box(*(round(corner) for corner in corners))
        items.append(ScreenItem("link" if is_link else "tab", text, place))
    return ScreenText(tuple(items), (observation.width, observation.height))


def goes_through_tabs(asked: Asked) -> str:
    """A model that reads the prompt: it clicks on the link, or else on the next tab."""
    prompt = asked.messages[0][1]
    wanted = GOAL_LINK.search(prompt)
    assert wanted is not None
    number = 1 + len(re.findall(r"^Step \d+, done", prompt, re.MULTILINE))
    for name in (f"'{wanted[1]}' link", f"'Tab #{number}' tab"):
        if found := re.search(rf"{re.escape(name)}: \[(\d+), (\d+), (\d+), (\d+)\]", prompt):
            x1, y1, x2, y2 = map(int, found.groups())
            return said(click((x1 + x2) // 2, (y1 + y2) // 2), thought=f"I take {name}.")
    return said(thought="It is nowhere.")


@pytest.mark.browser
def test_a_run_of_many_steps_goes_through_prompts_and_replies(llm_stub, llm_client):
    llm_stub.queue("I had better click on a tab.")
    llm_stub.reply = goes_through_tabs
    entry = llm_client.registry.entry("stub-chat")
    agent = ScreenAgent(settings(model="stub-chat"), llm_client, entry, tabs_and_links)
    kept = Kept()
    record = play("click-tab-2", agent, kept, seed=1)
    assert (record.outcome, record.reward) == (Outcome.SUCCESS, 1.0)
    assert len(kept.steps) > 1
    assert [len(step.llm_calls) for step in kept.steps] == [2, *[1] * (len(kept.steps) - 1)]
    for step, lines in zip(kept.steps, kept.text("screen_text"), strict=True):
        assert step.before is not None
        assert step.before.marked_screenshot is not None
        assert step.actions[0].point is not None
        request = json.loads(kept.blobs[step.llm_calls[-1].request.sha256])  # type: ignore[union-attr]
        assert lines in request["messages"][0]["parts"][0]["text"]
        assert "RootWebArea" not in json.dumps(request)
        assert request["temperature"] == 0
    assert "JSON object" in llm_stub.asked[1].text
    assert all(asked.schema is not None and not asked.images for asked in llm_stub.asked)
    assert record.totals.cost


@pytest.mark.parametrize("model", WHOLE)
def test_every_protocol_takes_the_schema(llm_stub, llm_client: Client, model):
    llm_stub.reply = lambda asked: said(click(34, 128))
    entry = llm_client.registry.entry(model)
    agent = ScreenAgent(settings(model=model), llm_client, entry, showing(LOGIN))
    assert agent.act(looked()).action == "mouse_click(34, 128)"


@pytest.mark.browser
def test_the_rules_solve_a_task_by_what_was_really_read():
    kept = Kept()
    record = play("enter-text", make_agent("screen-scripted"), kept, seed=0)
    assert (record.outcome, record.reward) == (Outcome.SUCCESS, 1.0)
    (lines,) = kept.text("screen_text")
    (elements,) = map(json.loads, kept.text("elements"))
    assert len(elements["items"]) == len(lines.splitlines())
    assert elements["milliseconds"]["ocr"] > 0


def test_the_host_whose_instructions_are_cut_is_the_one_that_is_served():
    assert list(INSTRUCTION_AREAS) == [HOST]
