"""Every number of a policy is checked and kept."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from webagent.recovery.policy import RecoveryPolicy


@pytest.mark.parametrize(
    "without",
    [{"on_loop": "stop", "on_false_completion": "ignore"}, {"recoveries": 0}],
)
def test_some_policies_never_recover(without: dict[str, Any]) -> None:
    assert RecoveryPolicy().may_recover
    assert not RecoveryPolicy(**without).may_recover


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
