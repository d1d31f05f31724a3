"""The whole of a recovery in a real browser."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.webagent.processes import descendants, left_of
from webagent.agents.agent import Agent
from webagent.agents.registry import make_agent
from webagent.agents.running import run_episode
from webagent.agents.scripted import Stuck
from webagent.environment.browsergym_environment import BrowserGymEnvironment
from webagent.recovery.policy import RecoveryPolicy
from webagent.trajectory.records import EndReason, Outcome, RunRecord, StepRecord

pytestmark = pytest.mark.browser

TASK = "miniwob.login-user"
HOST = "site.localhost"
# What the bids of the page are is the same at every start: the replay proves it.
SETTING_OUT = tuple(f"fill('16', '{name}')" for name in ("a", "ab", "abc", "abcd", "abcde", "f"))
LOOP = ("click('14')", "click('17')", "scroll(0, 200)")


class Kept:
    """The last word on each step."""

    def __init__(self) -> None:
        self.steps: list[StepRecord] = []
        self.processes: dict[int, str] = {}

    def __call__(self, step: StepRecord, blobs: Mapping[str, bytes]) -> None:
        if step.index < len(self.steps):
            self.steps[step.index] = step
        else:
            self.steps.append(step)
            self.processes.update(descendants())

    @property
    def states(self) -> str:
        return "".join(step.state.value[0].upper() for step in self.steps)


def play(kept: Kept, other: Agent, **policy: Any) -> RunRecord:
    return run_episode(
        TASK,
        Stuck(SETTING_OUT, LOOP),
        run_id="r1",
        sink=kept,
        seed=3,
        max_steps=100,
        policy=RecoveryPolicy(**policy),
        other_agent=other,
    )


def test_a_real_loop_is_noticed_undone_and_solved_by_another_agent():
    """With the numbers of the source: a loop of 15, back to 5 before it, 10 steps for the other."""
    kept = Kept()
    record = play(kept, make_agent("oracle"))
    assert (record.outcome, record.end_reason) == (Outcome.SUCCESS, EndReason.TASK_ENDED)
    assert record.reward == 1.0
    # Six steps out and fifteen of the loop; one is repeated, and the oracle needs three.
    assert kept.states == "L" + "S" * 20 + "R" + "LLL"
    assert [event.kind for event in record.events] == ["loop", "rollback", "model_switch"]
    loop, rollback, switch = record.events
    assert (loop.first_step, loop.last_step) == (6, 20)
    assert loop.detail is not None
    assert (loop.detail["period"], loop.detail["answer"]) == (3, "recovered")
    assert rollback.detail is not None
    assert (rollback.detail["to_step"], rollback.detail["replayed"]) == (1, 1)
    assert (switch.first_step, switch.last_step) == (22, 24)
    repeated, original = kept.steps[21], kept.steps[0]
    assert repeated.replays == 0
    assert repeated.before is not None
    assert original.before is not None
    assert repeated.before.fingerprint == original.before.fingerprint
    assert left_of(kept.processes) == []


class ChangingTask:
    """A page of our own that shows another number at every load."""

    viewport = {"width": 400, "height": 300}  # noqa: RUF012
    timeout = 3000
    locale = None
    timezone_id = None

    def __init__(self, seed: int) -> None:
        pass

    def setup(self, page: Any) -> tuple[str, dict[str, Any]]:
        page.goto(f"http://{HOST}/page.html")
        return "Wait.", {}

    def validate(self, page: Any, messages: Any) -> tuple[float, bool, str, dict[str, Any]]:
        return 0.0, False, "", {}

    def teardown(self) -> None:
        pass


def test_a_page_that_is_another_the_second_time_ends_the_replay(tmp_path: Path):
    (tmp_path / "page.html").write_text(
        "<!doctype html><title>Offers</title><p id=n></p>"
        "<script>n.textContent = 'Offer ' + Math.floor(Math.random() * 1e9)</script>"
    )
    kept = Kept()
    record = run_episode(
        "own.changing",
        Stuck((), ("noop(1)",)),
        run_id="r1",
        sink=kept,
        seed=1,
        max_steps=40,
        environment=BrowserGymEnvironment(ChangingTask, sites={HOST: tmp_path}, delay_s=0.05),
        policy=RecoveryPolicy(
            loop_shortest=4, loop_longest=6, steps_before=1, settle_tries=1, settle_ms=50
        ),
        other_agent=make_agent("do_nothing"),
    )
    assert (record.outcome, record.end_reason) == (Outcome.FAILURE, EndReason.REPLAY_DIVERGED)
    (diverged,) = [event for event in record.events if event.kind == "replay_diverged"]
    assert diverged.detail is not None
    assert (diverged.detail["why"], diverged.detail["repeats"]) == ("page", 0)
    assert kept.states == "SSSS" + "R"
    shown, expected = kept.steps[-1].before, kept.steps[0].before
    assert shown is not None
    assert expected is not None
    assert shown.a11y_tree != expected.a11y_tree
