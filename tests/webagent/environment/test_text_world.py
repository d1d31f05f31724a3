"""A world without pages runs in the same loop, and its milestones are kept with every step."""

from collections.abc import Iterator

import pytest

from tests.webagent import text_world
from tests.webagent.kept import Kept
from webagent.agents.running import run_episode
from webagent.environment.interface import take_step
from webagent.environment.registry import make_environment, register_suite
from webagent.milestones.checks import ActionCheck, ReportedCheck, TextCheck
from webagent.milestones.findings import (
    Definition,
    Progress,
    Rule,
    find_milestones,
    looks,
    reported_milestones,
    track,
    weights_of,
)
from webagent.trajectory.live import Decision, Observation, StepResult
from webagent.trajectory.records import AgentRecord, Outcome, StepRecord

NAMES = ("The lamp is in hand", "The cellar is reached", "The lamp burns in the cellar")


class Walker:
    """Does what it was told, one word after the other, then stops."""

    def __init__(self, *actions: str) -> None:
        self._actions: Iterator[str] = iter(actions)

    def act(self, observation: Observation) -> Decision:
        action = next(self._actions, None)
        return Decision(action=action, finished=action is None)

    def describe(self) -> AgentRecord:
        return AgentRecord(name="walker")


@pytest.fixture(autouse=True)
def house(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webagent.environment.registry._SUITES", {})
    register_suite("house", text_world.__name__)


def walked(*actions: str) -> tuple[Outcome, list[StepRecord], dict[str, bytes]]:
    kept = Kept()
    record = run_episode(text_world.TASK, Walker(*actions), run_id="r", sink=kept)
    return record.outcome, kept.steps, kept.blobs


def progress(steps: list[StepRecord], kept: dict[str, bytes], *own: Definition) -> Progress:
    """What the steps show, by the house's own reports unless milestones are given."""
    milestones = own or [
        Definition(name=name, rule=Rule(reached_when=ReportedCheck(name=name))) for name in NAMES
    ]
    row = looks(steps, lambda tree: kept[tree.sha256].decode())
    found = find_milestones(milestones, row)
    assert found.unseen == ()
    return track(found.findings, weights_of(milestones), len(steps))


def test_the_way_to_the_goal_is_told_step_by_step():
    outcome, steps, kept = walked("take('lamp')", "go('down')", "light('lamp')")
    assert outcome is Outcome.SUCCESS
    assert [sum(reported_milestones(step).values()) for step in steps] == [1, 2, 3]
    assert progress(steps, kept).by_step == pytest.approx((100 / 3, 200 / 3, 100))


def test_what_is_dropped_is_lost_and_the_highest_is_kept():
    outcome, steps, kept = walked("take('lamp')", "go('down')", "drop('lamp')", "go('up')")
    assert outcome is not Outcome.SUCCESS
    told = progress(steps, kept)
    assert told.maximum == pytest.approx(200 / 3)
    assert told.final == 0


def test_it_has_no_pictures_and_no_addresses_but_words():
    _, steps, kept = walked("take('lamp')")
    before = steps[0].before
    assert before is not None
    assert (before.screenshot, before.url) == (None, None)
    assert before.a11y_tree is not None
    assert kept[before.a11y_tree.sha256] == b"You are in the hall. A lamp stands on the floor."


def test_milestones_written_by_people_are_looked_for_in_words_and_deeds():
    _, steps, kept = walked("take('lamp')", "take('lamp')", "go('down')")
    took = Rule(reached_when=ActionCheck(action="take", text="lamp"))
    below = Rule(reached_when=TextCheck(text="in the cellar"))
    own = (Definition(name="took", rule=took), Definition(name="below", weight=3, rule=below))
    assert progress(steps, kept, *own).by_step == (25, 25, 100, 100)


def test_what_comes_with_the_step_is_not_asked_for_again():
    house = make_environment(text_world.TASK)
    seen = house.reset(None)
    said = StepResult(observation=seen, reward=0.0, milestones={"a": True})

    class Telling(text_world.TextHouse):
        def step(self, action: str) -> StepResult:
            return said

    assert take_step(Telling(), "go('down')") is said
    assert take_step(house, "go('down')").milestones["The cellar is reached"] is True
