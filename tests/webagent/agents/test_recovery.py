"""A stuck agent is got out: in an environment that really changes, without a browser."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.webagent.shop import FIELDS, Shop
from webagent.agents.agent import Agent
from webagent.agents.registry import make_agent
from webagent.agents.running import run_episode
from webagent.agents.scripted import Stuck
from webagent.recovery.retry_policy import RecoveryPolicy
from webagent.trajectory.live import Decision, Observation, Taken
from webagent.trajectory.records import (
    AgentRecord,
    EndReason,
    EventRecord,
    LlmCall,
    Outcome,
    RunRecord,
    StepRecord,
    StepState,
)

SMALL: dict[str, Any] = {
    "loop_shortest": 4,
    "loop_longest": 6,
    "false_completions": 3,
    "steps_before": 1,
    "other_steps": 3,
}
SETTING_OUT = tuple(f"fill('{key}', '1')" for key in FIELDS[1:5])


class Played:
    """What came of a run; the sink that it went to keeps the last word on each step."""

    def __init__(self) -> None:
        self.steps: list[StepRecord] = []
        self.handed_over: list[tuple[int, StepState]] = []
        self.record: RunRecord

    def __call__(self, step: StepRecord, blobs: Mapping[str, bytes]) -> None:
        self.handed_over.append((step.index, step.state))
        if step.index < len(self.steps):
            assert not blobs
            self.steps[step.index] = step
        else:
            self.steps.append(step)

    @property
    def states(self) -> str:
        """One letter a step: Live, Superseded, Replayed."""
        return "".join(step.state.value[0].upper() for step in self.steps)

    @property
    def live(self) -> list[str]:
        return [action_of(step) for step in self.steps if step.state is StepState.LIVE]

    def events(self, kind: str) -> list[EventRecord]:
        return [event for event in self.record.events if event.kind == kind]


class Told:
    """An agent that does what it is told, and keeps what it is to remember."""

    def __init__(self, *actions: str, model: str = "m2") -> None:
        self.actions = list(actions)
        self.told: list[tuple[str, ...]] = []
        self.model = model

    def act(self, observation: Observation) -> Decision:
        call = LlmCall(model=self.model, input_tokens=10, output_tokens=1, cost=Decimal("0.02"))
        action = self.actions.pop(0) if self.actions else "scroll(0, 7)"
        return Decision(action=action, llm_calls=(call,))

    def resume_from(self, history: Sequence[Taken]) -> None:
        self.told.append(tuple(taken.decision.action or "" for taken in history))

    def describe(self) -> AgentRecord:
        return AgentRecord(name="told", config={"model": self.model})


def action_of(step: StepRecord) -> str:
    return "".join(str(action.raw) for action in step.actions)


def play(
    shop: Shop, agent: Agent, other: Agent | None = None, *, max_steps: int = 40, **policy: Any
) -> Played:
    played = Played()
    played.record = run_episode(
        "shop.one",
        agent,
        run_id="r1",
        sink=played,
        seed=5,
        max_steps=max_steps,
        environment=shop,
        policy=RecoveryPolicy(**{**SMALL, **policy}),
        other_agent=other,
    )
    assert shop.closed == 1
    assert [step.index for step in played.steps] == list(range(len(played.steps)))
    return played


def test_the_whole_story() -> None:
    shop = Shop()
    other = Told("fill('a', 'x')", "click('go')")
    played = play(shop, Stuck(SETTING_OUT, ("scroll(0, 5)",)), other)
    record = played.record
    assert (record.outcome, record.end_reason) == (Outcome.SUCCESS, EndReason.TASK_ENDED)
    # Four steps out, four of the loop; back to one before it, which leaves three to repeat.
    assert played.states == "LLLSSSSS" + "RRR" + "LL"
    assert [step.branch for step in played.steps] == [0] * 8 + [1] * 5
    assert [step.replays for step in played.steps[8:]] == [0, 1, 2, None, None]
    assert played.live == [*SETTING_OUT[:3], "fill('a', 'x')", "click('go')"]
    assert other.told == [SETTING_OUT[:3]]
    assert shop.starts == 2
    assert [event.kind for event in record.events] == ["loop", "rollback", "model_switch"]
    loop, rollback, switch = record.events
    assert (loop.first_step, loop.last_step) == (4, 7)
    assert loop.detail == {"period": 1, "answer": "recovered", "agent": "stuck", "recovery": 1}
    assert (rollback.first_step, rollback.last_step) == (8, 10)
    assert rollback.detail is not None
    assert rollback.detail["trigger"] == "loop"
    assert rollback.detail["to_step"] == 3
    assert rollback.detail["replayed"] == 3
    assert (switch.first_step, switch.last_step) == (11, 12)
    assert switch.detail is not None
    assert (switch.detail["from_agent"], switch.detail["to_model"]) == ("stuck", "m2")
    assert switch.detail["cost"]["cost"] == "0.04"  # type: ignore[index, call-overload]
    assert played.steps[7].after is not None, "what the abandoned branch led to is kept"


def test_what_was_abandoned_stays_counted() -> None:
    played = play(
        Shop(),
        Told(*SETTING_OUT, *["scroll(0, 5)"] * 10, model="m1"),
        Told("fill('a', 'x')", "click('go')"),
    )
    assert played.states == "LLLSSSSS" + "RRR" + "LL"
    totals = played.record.totals
    assert (totals.llm_calls, totals.cost) == (10, Decimal("0.20"))
    assert played.record.models == ("m1", "m2")
    assert all(not step.llm_calls for step in played.steps if step.state is StepState.REPLAYED)
    assert played.record.extra is not None
    summary = played.record.extra["recovery"]
    assert isinstance(summary, dict)
    assert summary["recoveries"] == 1
    assert summary["replayed_steps"] == 3
    assert summary["steps_by_other"] == 2
    abandoned = summary["abandoned"]
    assert isinstance(abandoned, dict)
    assert (abandoned["steps"], abandoned["cost"]) == (5, "0.10")


def test_the_first_agent_goes_on_after_the_other_and_knows_what_it_did() -> None:
    first = Told(*SETTING_OUT, *["scroll(0, 5)"] * 4, "fill('a', 'x')", "click('go')")
    other = Told("fill('f', '2')", "fill('g', '2')", "fill('h', '2')")
    played = play(Shop(), first, other)
    assert played.record.outcome is Outcome.SUCCESS
    by_other = ("fill('f', '2')", "fill('g', '2')", "fill('h', '2')")
    assert first.told == [(*SETTING_OUT[:3], *by_other)]
    (switch,) = played.events("model_switch")
    assert (switch.first_step, switch.last_step) == (11, 13)


def test_without_another_agent_the_first_one_tries_again() -> None:
    first = Told(*SETTING_OUT, *["scroll(0, 5)"] * 4, "fill('a', 'x')", "click('go')")
    played = play(Shop(), first)
    assert played.record.outcome is Outcome.SUCCESS
    assert first.told == [SETTING_OUT[:3]]
    assert played.events("model_switch") == []


def test_after_the_last_recovery_the_run_ends_and_says_why() -> None:
    shop = Shop()
    played = play(shop, Stuck(SETTING_OUT, ("scroll(0, 5)",)), Told(), max_steps=100)
    record = played.record
    assert (record.outcome, record.end_reason) == (Outcome.FAILURE, EndReason.RECOVERY_EXHAUSTED)
    answers = [event.detail["answer"] for event in played.events("loop") if event.detail]
    assert answers == ["recovered", "recovered", "spent"]
    assert shop.starts == 3
    assert max(step.branch for step in played.steps) == 2
    assert played.steps[-1].after is not None


def test_it_may_go_on_where_nothing_is_left_to_try() -> None:
    played = play(Shop(), Stuck(), recoveries=0, otherwise="go_on", max_steps=12)
    assert played.record.end_reason is EndReason.MAX_STEPS
    spans = [(event.first_step, event.last_step) for event in played.events("false_completion")]
    assert spans == [(0, 2), (3, 5), (6, 8), (9, 11)]


def test_stopping_early_says_what_was_saved() -> None:
    shop = Shop()
    played = play(shop, Stuck(SETTING_OUT, ("scroll(0, 5)",)), on_loop="stop", false_completions=9)
    assert played.record.end_reason is EndReason.HARNESS_LOOP_STOP
    assert len(played.steps) == 8
    (loop,) = played.events("loop")
    assert loop.detail is not None
    assert (loop.detail["answer"], loop.detail["steps_saved_at_most"]) == ("stopped", 32)
    assert shop.starts == 1


def test_completion_declared_again_and_again_is_noticed() -> None:
    other = Told("fill('a', 'x')", "click('go')")
    insists = make_agent("early_finisher", {"insists": True, "message": "Done"})
    played = play(Shop(), insists, other)
    assert played.record.outcome is Outcome.SUCCESS
    assert played.states == "SSSLL"
    assert played.record.final_answer is None, "what was said on an abandoned branch is unsaid"
    (event,) = played.events("false_completion")
    assert (event.first_step, event.last_step) == (0, 2)
    (rollback,) = played.events("rollback")
    assert (rollback.first_step, rollback.last_step) == (3, 3)


def test_where_the_first_message_ends_the_task_nothing_fires() -> None:
    insists = make_agent("early_finisher", {"insists": True, "message": "Done"})
    played = play(Shop(ends_at_message=True), insists, Told())
    assert played.record.events == ()
    assert played.record.end_reason is EndReason.TASK_ENDED


def test_waiting_may_be_exempt() -> None:
    played = play(Shop(), Stuck(), waiting="exempt", max_steps=20)
    assert played.record.end_reason is EndReason.MAX_STEPS
    assert played.record.events == ()


@pytest.mark.parametrize(
    ("options", "why", "states"),
    [
        # Differs from the start, in the middle, and on the very page to go on from.
        ({"changes_at": 0}, "page", "LLLSSSSS" + "R"),
        ({"changes_at": 2}, "page", "LLLSSSSS" + "RRR"),
        ({"changes_at": 3}, "page", "LLLSSSSS" + "RRRR"),
    ],
)
def test_a_replay_that_comes_to_another_page_ends_the_run(
    options: dict[str, Any], why: str, states: str
) -> None:
    shop, other = Shop(**options), Told()
    played = play(shop, Stuck(SETTING_OUT, ("scroll(0, 5)",)), other)
    record = played.record
    assert (record.outcome, record.end_reason) == (Outcome.FAILURE, EndReason.REPLAY_DIVERGED)
    assert played.states == states
    assert other.told == []
    (diverged,) = played.events("replay_diverged")
    assert diverged.first_step == len(played.steps) - 1
    assert diverged.detail is not None
    assert diverged.detail["why"] == why
    assert diverged.detail["expected"] != diverged.detail["found"]
    shown = played.steps[-1]
    assert shown.actions == ()
    assert shown.before is not None
    assert shown.before.fingerprint == diverged.detail["found"]


def test_a_page_that_is_late_is_waited_for() -> None:
    shop = Shop(late=2)
    played = play(
        shop, Stuck(SETTING_OUT, ("scroll(0, 5)",)), Told("fill('a', 'x')", "click('go')")
    )
    assert played.record.outcome is Outcome.SUCCESS
    assert shop.actions.count("noop(1000)") == 2
    late = play(Shop(late=9), Stuck(SETTING_OUT, ("scroll(0, 5)",)), Told())
    assert late.record.end_reason is EndReason.REPLAY_DIVERGED


def test_a_task_that_ends_in_the_replay_has_diverged() -> None:
    class Impatient(Shop):
        def step(self, action: str) -> Any:
            result = super().step(action)
            ends = self.starts > 1 and action == SETTING_OUT[1]
            return type(result)(**{**_fields(result), "terminated": ends or result.terminated})

    played = play(Impatient(), Stuck(SETTING_OUT, ("scroll(0, 5)",)), Told())
    assert played.record.end_reason is EndReason.REPLAY_DIVERGED
    (diverged,) = played.events("replay_diverged")
    assert diverged.detail is not None
    assert diverged.detail["why"] == "ended"
    assert played.steps[-1].after is not None


def test_writes_are_not_repeated_unless_told_so() -> None:
    agent = Stuck(("click('del')", *SETTING_OUT), ("scroll(0, 5)",))
    shop = Shop()
    played = play(shop, agent, Told())
    assert played.record.end_reason is EndReason.RECOVERY_REFUSED
    assert played.steps[0].write_like == "delete"
    (loop,) = played.events("loop")
    assert loop.detail is not None
    assert (loop.detail["answer"], loop.detail["writes"]) == ("refused", [0])
    assert shop.starts == 1
    agent = Stuck(("click('del')", *SETTING_OUT), ("scroll(0, 5)",))
    solves = Told("fill('a', 'x')", "click('go')")
    played = play(Shop(), agent, solves, writes="continue")
    assert played.record.outcome is Outcome.SUCCESS
    (loop,) = played.events("loop")
    assert loop.detail is not None
    assert loop.detail["writes"] == [0]


def test_a_write_on_the_abandoned_branch_alone_is_no_obstacle() -> None:
    agent = Stuck(SETTING_OUT, ("click('del')",))
    played = play(Shop(), agent, Told("fill('a', 'x')", "click('go')"))
    assert played.record.outcome is Outcome.SUCCESS


def test_an_environment_that_breaks_in_the_replay_is_an_error() -> None:
    played = play(Shop(fails_at=10), Stuck(SETTING_OUT, ("scroll(0, 5)",)), Told())
    assert played.record.outcome is Outcome.ERROR
    assert played.states == "LLLSSSSS" + "RR"
    assert played.steps[-1].actions[0].status == "unknown"
    assert played.record.extra is not None
    assert "recovery" in played.record.extra


def test_a_cancelled_replay_stops() -> None:
    shop, played = Shop(), Played()
    played.record = run_episode(
        "shop.one",
        Stuck(SETTING_OUT, ("scroll(0, 5)",)),
        run_id="r1",
        sink=played,
        seed=5,
        max_steps=40,
        environment=shop,
        policy=RecoveryPolicy(**SMALL),
        should_stop=lambda: shop.starts > 1,
    )
    assert played.record.end_reason is EndReason.CANCELLED
    assert played.states == "LLLSSSSS"
    assert all(event.last_step < 8 for event in played.record.events)


def test_replayed_steps_are_nobodys_decisions() -> None:
    played = play(Shop(), Stuck(SETTING_OUT, ("scroll(0, 5)",)), Told(), max_steps=10)
    assert played.record.end_reason is EndReason.MAX_STEPS
    assert len(played.steps) == 10 + 3


def test_an_unscored_task_stays_unscored_after_a_recovery() -> None:
    class Stops(Told):
        def act(self, observation: Observation) -> Decision:
            return Decision(action=None, finished=True)

    played = play(Shop(scored=False), Stuck(), Stops())
    assert (played.record.outcome, played.record.reward) == (Outcome.UNKNOWN, None)


def test_an_agent_that_cannot_be_told_is_left_as_it_is() -> None:
    played = play(Shop(), make_agent("looping"), make_agent("do_nothing"), max_steps=60)
    assert played.record.end_reason is EndReason.RECOVERY_EXHAUSTED


actions = st.sampled_from(
    [*(f"fill('{key}', '{v}')" for key in FIELDS[:3] for v in "01"), "noop(1)", "scroll(0, 5)"]
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(actions, max_size=9),
    st.lists(actions, min_size=1, max_size=3),
    st.lists(actions, max_size=12),
    st.integers(0, 6),
    st.integers(0, 4),
)
def test_the_live_steps_alone_lead_to_where_the_run_ended(
    first: list[str], block: list[str], others: list[str], steps_before: int, other_steps: int
) -> None:
    """Whatever was abandoned and replayed: nothing of it is left in the environment."""
    shop = Shop()
    played = play(
        shop,
        Stuck(tuple(first), tuple(block)),
        Told(*others),
        steps_before=steps_before,
        other_steps=other_steps,
        max_steps=50,
    )
    again = Shop()
    again.reset(5)
    for action in played.live:
        again.step(action)
    assert again.state == shop.state
    decided = [step for step in played.steps if step.state is not StepState.REPLAYED]
    assert len(decided) <= 50
    for step in played.steps:
        if step.replays is not None:
            assert action_of(step) == action_of(played.steps[step.replays])
            assert played.steps[step.replays].index < step.index
    for event in played.record.events:
        assert 0 <= event.first_step <= event.last_step < len(played.steps)


def _fields(result: Any) -> dict[str, Any]:
    return {name: getattr(result, name) for name in type(result).__dataclass_fields__}
