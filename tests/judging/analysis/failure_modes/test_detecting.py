"""Failure modes told without judging: every definition, its edges, and what holds of any run."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judging.evaluators.failure_detection import (
    DetectorSettings,
    Found,
    Rule,
    RunSeen,
    StepSeen,
    detect,
    is_invalid,
    longest_repetition,
)
from webagent.trajectory.actions import ActionKind
from webagent.trajectory.records import EndReason, Outcome
from webagent.trajectory.verdict_records import Mode

DEFAULTS = DetectorSettings()


def steps(*done: str, page: str = "p", **fields: object) -> tuple[StepSeen, ...]:
    """Steps with these actions, all on one page; `m:` and `w:` in front make messages and waits."""
    kinds = {"m": ActionKind.MESSAGE, "w": ActionKind.WAIT}
    return tuple(
        StepSeen(
            index=index,
            action=action,
            kind=kinds.get(action[:1] if action[1:2] == ":" else "", ActionKind.CLICK),
            **({"page": page} | fields),  # type: ignore[arg-type]  # fields of a step
        )
        for index, action in enumerate(done)
    )


def rules(run: RunSeen) -> dict[Mode, Rule]:
    return {found.mode: found.rule for found in detect(run)}


def test_same_action_on_the_same_page_four_times() -> None:
    [found] = detect(RunSeen(steps=steps("a", "b", "b", "b", "b", "c")))
    assert found == Found(mode=Mode.REPETITIVE, rule=Rule.REPEATED_BLOCK, steps=(1, 2, 3, 4))
    assert not detect(RunSeen(steps=steps("a", "b", "b", "b", "c")))


def test_two_actions_in_turn_three_times() -> None:
    [found] = detect(RunSeen(steps=steps("x", "a", "b", "a", "b", "a", "b", "y")))
    assert found.steps == (1, 2, 3, 4, 5, 6)
    assert not detect(RunSeen(steps=steps("a", "b", "a", "b", "x")))


def test_the_same_click_on_changing_pages_is_no_repetition() -> None:
    turning = tuple(
        StepSeen(index=n, action="click('next')", kind=ActionKind.CLICK, page=f"month {n}")
        for n in range(9)
    )
    assert not detect(RunSeen(steps=turning))


def test_waiting_and_what_was_undone_are_no_repetition() -> None:
    assert not detect(RunSeen(steps=steps("a", *["w:"] * 8, "b")))
    undone = steps(*["a"] * 8, counts=False)
    assert not detect(RunSeen(steps=undone, anomalies=[(0, 7)]))


def test_marks_of_the_detectors_of_anomalies_count() -> None:
    seen = RunSeen(steps=steps("a", "b", "c", "d"), anomalies=[(1, 2)])
    assert detect(seen) == [Found(mode=Mode.REPETITIVE, rule=Rule.ANOMALY, steps=(1, 2))]
    stuck = RunSeen(steps=steps("a"), end_reason=EndReason.RECOVERY_EXHAUSTED)
    assert rules(stuck) == {Mode.REPETITIVE: Rule.STUCK_AT_THE_END}


@pytest.mark.parametrize(
    ("run", "rule"),
    [
        (RunSeen(steps=steps("a"), end_reason=EndReason.AGENT_GAVE_UP), Rule.GAVE_UP),
        (RunSeen(steps=steps("m:done"), end_reason=EndReason.TASK_ENDED), Rule.DID_NOTHING),
        (RunSeen(steps=(), end_reason=EndReason.AGENT_STOPPED), Rule.DID_NOTHING),
        (
            RunSeen(
                steps=steps("a", "b", "m:done"), end_reason=EndReason.TASK_ENDED, reference_length=3
            ),
            Rule.SHORTER_THAN_POSSIBLE,
        ),
    ],
)
def test_early_stop(run: RunSeen, rule: Rule) -> None:
    assert rules(run) == {Mode.EARLY_STOP: rule}


def test_a_wrong_answer_after_work_is_no_early_stop() -> None:
    ended = steps("a", "b", "c", "m:42")
    for reference_length in (None, 3):
        seen = RunSeen(
            steps=ended, end_reason=EndReason.TASK_ENDED, reference_length=reference_length
        )
        assert not detect(seen)
    by_the_task = RunSeen(steps=(), end_reason=EndReason.TASK_ENDED)
    assert not detect(by_the_task)


def failing(*errors: str) -> tuple[StepSeen, ...]:
    return tuple(
        StepSeen(index=n, action=f"click('{n}')", kind=ActionKind.CLICK, page=str(n), error=error)
        for n, error in enumerate(errors)
    )


def test_invalid_actions() -> None:
    assert detect(RunSeen(steps=failing("", "", "no such element"))) == [
        Found(mode=Mode.INVALID_ACTION, rule=Rule.LAST_ACTION_FAILED, steps=(2,))
    ]
    many = RunSeen(steps=failing("bad", "", "bad", "", "", ""))
    assert detect(many) == [
        Found(mode=Mode.INVALID_ACTION, rule=Rule.MANY_ACTIONS_FAILED, steps=(0, 2))
    ]
    assert not detect(RunSeen(steps=failing("bad", "", "bad", "", "", "", "")))
    assert not detect(RunSeen(steps=failing("bad", "")))


@pytest.mark.parametrize(
    ("error", "is_agents"),
    [
        ("", False),
        ("ValueError: Could not find element with bid 42", True),
        ("Page.goto: net::ERR_NAME_NOT_RESOLVED at http://nowhere.example/", True),
        ("Page.goto: net::ERR_CONNECTION_REFUSED at http://shop/", False),
        ("Target page, context or browser has been closed", False),
        ("Error: Page crashed", False),
    ],
)
def test_an_error_of_site_or_browser_makes_no_action_invalid(error: str, is_agents: bool) -> None:
    assert is_invalid(error) is is_agents
    assert bool(detect(RunSeen(steps=failing("", error)))) is is_agents


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"end_reason": EndReason.MAX_STEPS}, Rule.STEP_LIMIT),
        ({"end_reason": EndReason.COST_LIMIT}, Rule.OTHER_LIMIT),
        ({"end_reason": EndReason.UNKNOWN, "max_steps": 2}, Rule.STEP_LIMIT),
        ({"end_reason": EndReason.UNKNOWN, "max_steps": 3}, None),
        ({"end_reason": EndReason.TASK_ENDED, "max_steps": 2}, None),
    ],
)
def test_limits(fields: dict[str, object], rule: Rule | None) -> None:
    found = rules(RunSeen(steps=steps("a", "b"), **fields))  # type: ignore[arg-type]  # of a run
    assert found == ({Mode.MAX_STEPS: rule} if rule else {})


def test_environment_counts_for_nothing_else() -> None:
    broken = RunSeen(
        steps=steps(*["a"] * 9, error="bad"),
        outcome=Outcome.ERROR,
        error_origin="environment",
        end_reason=EndReason.MAX_STEPS,
    )
    assert rules(broken) == {Mode.ENVIRONMENT: Rule.NOT_THE_AGENTS_ERROR}
    assert not detect(RunSeen(outcome=Outcome.ERROR, error_origin="agent"))


def test_a_run_may_show_several() -> None:
    seen = RunSeen(steps=steps(*["a"] * 5, error="bad"), end_reason=EndReason.MAX_STEPS)
    assert rules(seen) == {
        Mode.REPETITIVE: Rule.REPEATED_BLOCK,
        Mode.INVALID_ACTION: Rule.LAST_ACTION_FAILED,
        Mode.MAX_STEPS: Rule.STEP_LIMIT,
    }


def by_brute_force(done: Sequence[str]) -> int:
    """The length of the longest stretch, trying all of them."""
    return max(
        (
            last - first
            for first in range(len(done))
            for last in range(first + 1, len(done) + 1)
            for period in range(1, DEFAULTS.longest_block + 1)
            if last - first >= max(DEFAULTS.least_repeats * period, DEFAULTS.least_length)
            and all(done[n] == done[n - period] for n in range(first + period, last))
        ),
        default=0,
    )


@settings(max_examples=150)
@given(st.lists(st.sampled_from("abc"), max_size=24))
def test_longest_repetition_is_what_trying_all_stretches_finds(done: list[str]) -> None:
    span = longest_repetition(done, DEFAULTS)
    assert (span[1] - span[0] + 1 if span else 0) == by_brute_force(done)


seen_steps = st.builds(
    StepSeen,
    index=st.just(0),
    action=st.sampled_from(["", "a", "b"]),
    kind=st.sampled_from(list(ActionKind)),
    page=st.sampled_from(["p", "q"]),
    error=st.sampled_from(["", "bad", "net::ERR_TIMED_OUT"]),
    counts=st.booleans(),
)
seen_runs = st.builds(
    RunSeen,
    steps=st.lists(seen_steps, max_size=12),
    outcome=st.sampled_from(list(Outcome)),
    end_reason=st.sampled_from(list(EndReason)),
    error_origin=st.sampled_from(["", "agent", "environment", "model", "harness", "unknown"]),
    max_steps=st.none() | st.integers(0, 12),
    reference_length=st.none() | st.integers(0, 6),
    anomalies=st.just([(0, 2)]) | st.just([]),
)


@settings(max_examples=150)
@given(seen_runs)
def test_whatever_the_run(run: RunSeen) -> None:
    found = detect(run)
    modes = [each.mode for each in found]
    assert modes == [mode for mode in Mode if mode in modes]
    if Mode.ENVIRONMENT in modes:
        assert modes == [Mode.ENVIRONMENT]
        assert run.outcome == Outcome.ERROR
    assert not {Mode.PLAN_ERROR, Mode.MISREAD_OBSERVATION} & set(modes)
    undone = [StepSeen(index=99, action="z", error="bad", counts=False)] * 9
    with_undone = RunSeen(
        steps=[*run.steps, *undone],
        outcome=run.outcome,
        end_reason=run.end_reason,
        error_origin=run.error_origin,
        max_steps=run.max_steps,
        reference_length=run.reference_length,
        anomalies=run.anomalies,
    )
    assert [each.mode for each in detect(with_undone)] == modes
