"""Every number of a policy is said, checked, and kept."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from webagent.recovery.policy import Clause, ClauseKey, RecoveryPolicy


def keys(policy: RecoveryPolicy, **options: Any) -> list[str]:
    return [clause.key.value for clause in policy.in_words(**options)]


def test_the_defaults_are_the_numbers_of_the_source() -> None:
    assert RecoveryPolicy().in_words() == (
        Clause(ClauseKey.LOOP_RECOVER, {"shortest": 15, "longest": 25}),
        Clause(ClauseKey.FALSE_COMPLETION_RECOVER, {"at_least": 11}),
        Clause(ClauseKey.WAITING_COUNTS),
        Clause(ClauseKey.BACK, {"steps": 5}),
        Clause(ClauseKey.OTHER_AGENT, {"steps": 10}),
        Clause(ClauseKey.AT_MOST, {"recoveries": 2}),
        Clause(ClauseKey.OTHERWISE_STOP),
        Clause(ClauseKey.WRITES_REFUSE),
        Clause(ClauseKey.SETTLE, {"tries": 3, "milliseconds": 1000}),
        Clause(ClauseKey.DIVERGED),
    )


def test_a_policy_that_only_stops_speaks_of_nothing_else() -> None:
    policy = RecoveryPolicy(on_loop="stop", on_false_completion="ignore")
    assert keys(policy) == ["loop_stop", "false_completion_ignore", "waiting_counts"]
    assert not policy.may_recover


def test_without_recoveries_it_is_said_so() -> None:
    policy = RecoveryPolicy(recoveries=0, otherwise="go_on")
    assert keys(policy)[-2:] == ["never_recover", "otherwise_go_on"]
    assert not policy.may_recover
    assert "same_agent" in keys(RecoveryPolicy(other_steps=0))


def test_where_the_first_message_ends_the_task_it_says_what_can_never_be_noticed() -> None:
    assert "note_only_waiting" in keys(RecoveryPolicy(), ends_at_first_message=True)
    exempt = RecoveryPolicy(waiting="exempt")
    assert "note_never" in keys(exempt, ends_at_first_message=True)
    ignored = RecoveryPolicy(on_false_completion="ignore")
    assert not [key for key in keys(ignored, ends_at_first_message=True) if "note" in key]


def test_every_sentence_can_be_said() -> None:
    """No key is dead: a page has words for each."""
    said: set[str] = set()
    for answer in ("recover", "stop", "ignore"):
        for other in (0, 1):
            for waiting in ("counts", "exempt"):
                policy = RecoveryPolicy(
                    on_loop=answer,
                    on_false_completion=answer,
                    other_steps=other,
                    waiting=waiting,
                    writes=("refuse", "continue")[other],
                    otherwise=("stop", "go_on")[other],
                )
                said |= set(keys(policy, ends_at_first_message=True))
    said |= set(keys(RecoveryPolicy(recoveries=0)))
    assert said == {key.value for key in ClauseKey}


@pytest.mark.parametrize(
    "wrong",
    [
        {"loop_shortest": 26},
        {"loop_shortest": 1},
        {"false_completions": 1},
        {"steps_before": -1},
        {"recoveries": -1},
        {"other_steps": "many"},
        {"writes": "ask"},
        {"stepsbefore": 5},
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RecoveryPolicy(**wrong)


def test_a_policy_survives_being_written_and_never_changes() -> None:
    policy = RecoveryPolicy(loop_shortest=3, writes="continue")
    assert RecoveryPolicy.model_validate_json(policy.model_dump_json()) == policy
    with pytest.raises(ValidationError):
        policy.recoveries = 3  # type: ignore[misc]
