"""The loop of a run, in an environment without a browser."""

from collections.abc import Callable
from dataclasses import replace
from math import inf, nan
from types import SimpleNamespace
from typing import Any

import pytest

from tests.webagent.made_up import Stage
from tests.webagent.pages import observation
from webagent.agents import episode
from webagent.agents.agent import AgentFailure
from webagent.agents.registry import make_agent
from webagent.agents.running import run_episode
from webagent.environment.interface import EnvironmentFailure
from webagent.trajectory.faults import Fault
from webagent.trajectory.intake import NO_NUMBER
from webagent.trajectory.live import ActionOutcome, Decision, Observation, StepResult
from webagent.trajectory.records import (
    AgentRecord,
    ChatMessage,
    EndReason,
    EnvironmentRecord,
    ErrorOrigin,
    Gap,
    Json,
    LlmCall,
    Outcome,
    RunRecord,
    StepRecord,
)

GREETING = ChatMessage(role="assistant", text="Hi!")


class Room(Stage):
    """An environment that answers every action with the next of the given results."""

    def __init__(
        self, *results: StepResult | Exception, reset: Exception | None = None, scored: bool = True
    ) -> None:
        self.results = list(results)
        self.broken_reset = reset
        self.scored = scored
        self.broken_evidence: Exception | None = None
        self.actions: list[str] = []
        self.closed = 0

    def reset(self, seed: int | None) -> Observation:
        if self.broken_reset:
            raise self.broken_reset
        return replace(observation(messages=(GREETING,)), scored=self.scored)

    def step(self, action: str) -> StepResult:
        self.actions.append(action)
        result = self.results.pop(0) if self.results else nothing()
        if isinstance(result, Exception):
            raise result
        return result

    def evidence(self, evaluation: Json | None) -> Json:
        if self.broken_evidence:
            raise self.broken_evidence
        return {"final_url": "http://x/", "asked": evaluation}

    def close(self) -> None:
        self.closed += 1


class Acting:
    """An agent made of a function."""

    def __init__(self, act: Callable[[Observation], Decision]) -> None:
        self._act = act

    def act(self, observation: Observation) -> Decision:
        return self._act(observation)

    def describe(self) -> AgentRecord:
        return AgentRecord(name="acting")


def nothing(**fields: Any) -> StepResult:
    said = tuple(ChatMessage(role=role, text=text) for role, text in fields.pop("said", ()))
    outcomes = (ActionOutcome(executed=True, error=fields.get("error")),)
    return StepResult(
        **{
            "observation": observation(messages=(GREETING, *said)),
            "reward": 0.0,
            "outcomes": outcomes,
            **fields,
        }
    )


def run(room: Room, agent: Any = None, **options: Any) -> tuple[RunRecord, list[StepRecord]]:
    steps: list[StepRecord] = []
    agent = agent or make_agent("looping")
    record = run_episode(
        "room.one",
        agent,
        run_id="r1",
        sink=lambda step, _: steps.append(step),
        environment=room,
        **options,
    )
    assert room.closed == 1
    assert [step.index for step in steps] == list(range(len(steps)))
    return record, steps


def test_a_task_that_ends_with_a_reward_is_a_success():
    room = Room(nothing(), nothing(reward=1.0, raw_reward=0.5, terminated=True))
    record, steps = run(room, seed=7, task_id="t1", evaluation={"eval_types": []})
    assert (record.outcome, record.end_reason) == (Outcome.SUCCESS, EndReason.TASK_ENDED)
    assert (record.id, record.task_id, record.seed) == ("r1", "t1", 7)
    assert record.reward == 0.5
    assert record.extra == {"benchmark_reward": 1.0, "binary_reward": False}
    assert record.evidence == {"final_url": "http://x/", "asked": {"eval_types": []}}
    assert record.environment == EnvironmentRecord(browser="none")
    assert record.agent.name == "looping"
    assert record.final_answer is None
    assert record.error is None
    assert [step.reward for step in steps] == [0.0, 0.5]
    assert [step.after is not None for step in steps] == [False, True]
    assert record.started_at is not None
    assert record.ended_at is not None
    assert record.totals.seconds is not None


def test_a_task_that_ends_without_a_reward_is_a_failure():
    record, _ = run(Room(nothing(raw_reward=-1.0, terminated=True)))
    assert (record.outcome, record.end_reason) == (Outcome.FAILURE, EndReason.TASK_ENDED)
    assert record.reward == -1.0


def test_a_seed_is_drawn_where_none_is_given_and_kept():
    seeds = {run(Room(nothing(terminated=True)))[0].seed for _ in range(3)}
    assert None not in seeds
    assert len(seeds) > 1


def test_the_last_step_allowed_ends_the_run_as_a_failure():
    room = Room()
    record, steps = run(room, max_steps=3)
    assert (record.outcome, record.end_reason) == (Outcome.FAILURE, EndReason.MAX_STEPS)
    assert len(room.actions) == len(steps) == record.max_steps == 3
    assert steps[-1].after is not None


def test_an_agent_that_says_it_is_done_is_stopped_after_its_message():
    room = Room(nothing(said=[("assistant", "Done.")]))
    record, steps = run(room, make_agent("early_finisher", {"message": "Done."}))
    assert (record.outcome, record.end_reason) == (Outcome.FAILURE, EndReason.AGENT_STOPPED)
    assert record.claimed_success is True
    assert record.final_answer == "Done."
    assert len(steps) == 1


def test_an_agent_that_stops_without_an_action_leaves_a_step_without_one():
    record, steps = run(Room(nothing()), make_agent("replayer", {"actions": ["noop()"]}))
    assert record.end_reason is EndReason.AGENT_STOPPED
    assert [len(step.actions) for step in steps] == [1, 0]
    assert steps[1].before is not None


def test_giving_up_is_told_apart():
    gave_up = Acting(lambda _: Decision(action=None, gave_up=True, thought="Impossible."))
    record, steps = run(Room(), gave_up)
    assert (record.outcome, record.end_reason) == (Outcome.FAILURE, EndReason.AGENT_GAVE_UP)
    assert record.claimed_success is False
    assert steps[0].thought == "Impossible."
    # Nothing done is nothing reached: a reward of 0, as the benchmark counts it, and not none.
    assert (record.reward, record.extra) == (0.0, {"benchmark_reward": 0.0, "binary_reward": False})
    record, _ = run(Room(scored=False), gave_up)
    assert (record.outcome, record.reward) == (Outcome.UNKNOWN, None)
    said = nothing(terminated=True, gave_up=True, said=[("infeasible", "no such page")])
    record, _ = run(Room(said))
    assert record.end_reason is EndReason.AGENT_GAVE_UP
    assert record.infeasible_claim == "no such page"
    assert record.final_answer is None


def test_an_unscored_task_makes_no_claim():
    record, steps = run(Room(nothing(scored=False, terminated=True)))
    assert (record.outcome, record.end_reason) == (Outcome.UNKNOWN, EndReason.TASK_ENDED)
    assert record.reward is None
    assert record.extra is None
    assert steps[0].reward is None
    record, _ = run(Room(*[nothing(scored=False)] * 2), max_steps=2)
    assert (record.outcome, record.end_reason) == (Outcome.UNKNOWN, EndReason.MAX_STEPS)


@pytest.mark.parametrize("figures", [(nan, None), (inf, None), (0.0, nan), (1.0, -inf)])
def test_a_reward_that_is_no_number_is_the_environments_error_and_no_failure(figures):
    reward, raw_reward = figures
    record, steps = run(Room(nothing(reward=reward, raw_reward=raw_reward, terminated=True)))
    assert (record.outcome, record.end_reason) == (Outcome.UNKNOWN, EndReason.TASK_ENDED)
    assert (record.reward, steps[0].reward, record.extra) == (None, None, None)
    assert record.gaps == (Gap(what="reward", where="end of the run", why=NO_NUMBER),)
    record, _ = run(Room(nothing(reward=nan), nothing(reward=1.0, terminated=True)))
    assert (record.outcome, record.reward, record.gaps) == (Outcome.SUCCESS, 1.0, ())


def test_a_bad_action_is_the_steps_error_and_not_the_runs():
    room = Room(nothing(error="ValueError: no 99"), nothing(reward=1.0, terminated=True))
    record, steps = run(room)
    assert record.outcome is Outcome.SUCCESS
    assert record.error is None
    assert [step.actions[0].error for step in steps] == ["ValueError: no 99", None]


@pytest.mark.parametrize("fault", [Fault.BROWSER_CRASH, Fault.BROWSER_MISSING])
def test_a_broken_environment_is_an_error_and_never_a_failure(fault):
    broken = EnvironmentFailure("it broke", fault)
    for room, n_steps in ((Room(reset=broken), 0), (Room(nothing(), broken), 2)):
        record, steps = run(room)
        assert (record.outcome, record.end_reason) == (Outcome.ERROR, EndReason.EXCEPTION)
        assert record.error is not None
        assert (record.error.message, record.error.origin) == ("it broke", ErrorOrigin.ENVIRONMENT)
        assert record.reward is None
        assert record.evidence is None
        assert record.error.fault is fault
        assert record.extra == {"retriable": broken.retriable}
        assert len(steps) == n_steps
    assert steps[-1].actions[0].status == "unknown"
    assert steps[-1].after is None


def test_a_fault_of_ours_is_an_error_of_the_harness():
    record, _ = run(Room(ZeroDivisionError("oops")))
    assert record.outcome is Outcome.ERROR
    assert record.error is not None
    assert record.error.origin is ErrorOrigin.HARNESS
    assert record.error.stack is not None
    assert 'File "webagent/agents/episode.py"' in record.error.stack
    assert "/webagent/agents/episode.py" not in record.error.stack


def test_an_agent_that_crashes_ends_its_run_as_an_error():
    def crash(_: Observation) -> Decision:
        raise IndexError("list index out of range")

    def no_model(_: Observation) -> Decision:
        raise AgentFailure("429", ErrorOrigin.MODEL)

    for act, origin in ((crash, ErrorOrigin.AGENT), (no_model, ErrorOrigin.MODEL)):
        record, steps = run(Room(), Acting(act))
        assert record.outcome is Outcome.ERROR
        assert record.error is not None
        assert record.error.origin is origin
        assert [len(step.actions) for step in steps] == [0]
        assert steps[0].before is not None


def test_a_cancelled_run_stops_before_the_next_action():
    asked: list[int] = []

    def stop_at(count: int) -> Callable[[], bool]:
        asked.clear()

        def should_stop() -> bool:
            asked.append(1)
            return len(asked) >= count

        return should_stop

    expected = {1: (0, 0), 2: (1, 0), 3: (1, 1), 4: (2, 1), 5: (2, 2)}
    for count, (n_steps, n_actions) in expected.items():
        room = Room()
        record, steps = run(room, should_stop=stop_at(count))
        assert (record.outcome, record.end_reason) == (Outcome.INCOMPLETE, EndReason.CANCELLED)
        assert (len(steps), len(room.actions)) == (n_steps, n_actions)
        if n_steps > n_actions:
            assert steps[-1].actions == ()
            assert steps[-1].extra == {"not_executed": "scroll(0, 200)"}
        elif steps:
            assert steps[-1].after is not None


def test_no_step_begins_after_the_time_limit(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(episode, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    def slow(_: Observation) -> Decision:
        clock[0] += 6
        return Decision(action="noop()")

    room = Room()
    record, steps = run(room, Acting(slow), time_limit_s=10)
    assert (record.outcome, record.end_reason) == (Outcome.FAILURE, EndReason.TIME_LIMIT)
    assert len(steps) == 2
    assert len(room.actions) == 1


@pytest.mark.parametrize("place", ["sink", "should_stop", "agent", "environment"])
def test_what_is_for_the_caller_gets_there_and_the_environment_is_closed(place):
    class LostLease(Exception):
        """Somebody else has the run now."""

    def lose(*_: object) -> Any:
        raise LostLease

    room = Room(LostLease()) if place == "environment" else Room()
    with pytest.raises(LostLease):
        run_episode(
            "room.one",
            Acting(lose) if place == "agent" else make_agent("looping"),
            run_id="r1",
            sink=lose if place == "sink" else lambda step, blobs: None,
            should_stop=lose if place == "should_stop" else lambda: False,
            environment=room,
            let_through=(LostLease,),
        )
    assert room.closed == 1


def test_evidence_that_cannot_be_captured_is_a_gap():
    room = Room(nothing(reward=1.0, terminated=True))
    room.broken_evidence = EnvironmentFailure("the browser is gone", Fault.BROWSER_CRASH)
    record, _ = run(room)
    assert record.outcome is Outcome.SUCCESS
    assert record.evidence is None
    assert [gap.why for gap in record.gaps] == ["the browser is gone"]


def test_model_calls_are_summed_and_what_nobody_reported_stays_unknown():
    call = LlmCall(model="m1", input_tokens=10)
    answers = [
        Decision(action="noop()", llm_calls=(call, replace_model(call, "m2"))),
        Decision(action=None, llm_calls=(call,), finished=True),
    ]
    record, steps = run(Room(), Acting(lambda _: answers.pop(0)))
    assert record.models == ("m1", "m2")
    assert (record.totals.input_tokens, record.totals.llm_calls) == (30, 3)
    assert record.totals.output_tokens is None
    assert record.totals.cost is None
    assert [len(step.llm_calls) for step in steps] == [2, 1]


def replace_model(call: LlmCall, model: str) -> LlmCall:
    return call.model_copy(update={"model": model})


def test_an_unknown_task_is_an_error_of_the_environment():
    record = run_episode(
        "webarena.3", make_agent("looping"), run_id="r1", sink=lambda step, blobs: None
    )
    assert record.outcome is Outcome.ERROR
    assert record.extra == {"retriable": False}
    assert record.error is not None
    assert record.error.fault is Fault.TASK_UNAVAILABLE
    assert "browsergym-webarena" in record.error.message


def test_a_record_survives_being_written_and_read():
    record, steps = run(Room(nothing(reward=1.0, terminated=True)))
    assert RunRecord.model_validate(record.to_json()) == record
    assert [StepRecord.model_validate(step.to_json()) for step in steps] == steps


def test_a_record_says_how_much_knowledge_the_agent_was_given():
    class Given(Acting):
        def knowledge_given(self) -> Json:
            return {"given": 1, "left_out": [1], "budget_tokens": 10}

    def stop(_: Observation) -> Decision:
        return Decision(action=None, finished=True)

    kept, _ = run(Room(), Given(stop))
    assert kept.extra is not None
    assert kept.extra["knowledge"] == {"given": 1, "left_out": [1], "budget_tokens": 10}
    without, _ = run(Room(), Acting(stop))
    assert "knowledge" not in (without.extra or {})
