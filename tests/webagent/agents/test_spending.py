"""Limits on what model calls may take, in the loop of a run."""

from decimal import Decimal
from typing import Any

import pytest

from tests.webagent.agents.test_running import Acting, Room
from webagent.agents.agent import Spending
from webagent.agents.running import run_episode
from webagent.recovery.retry_policy import RecoveryPolicy
from webagent.trajectory.live import Decision
from webagent.trajectory.records import EndReason, LlmCall, Outcome, RunRecord


def call(cost: str | None = "0.25") -> LlmCall:
    return LlmCall(
        model="m", input_tokens=80, output_tokens=20, cost=None if cost is None else Decimal(cost)
    )


def spend(cost: str | None = "0.25", **options: Any) -> RunRecord:
    agent = Acting(lambda seen: Decision(action="click('1')", llm_calls=(call(cost),)))
    return run_episode(
        "room.x",
        agent,
        run_id="r",
        sink=lambda step, blobs: None,
        environment=Room(),
        max_steps=options.pop("max_steps", 9),
        **options,
    )


@pytest.mark.parametrize(
    ("limit", "reason", "calls"),
    [
        ({"max_tokens": 250}, EndReason.TOKEN_LIMIT, 3),
        ({"max_cost": Decimal("0.5")}, EndReason.COST_LIMIT, 2),
        ({"max_tokens": 10**6, "max_cost": Decimal(10)}, EndReason.MAX_STEPS, 9),
    ],
)
def test_no_step_begins_beyond_a_limit(limit: dict[str, Any], reason: str, calls: int) -> None:
    record = spend(**limit)
    assert (record.outcome, record.end_reason) == (Outcome.FAILURE, reason)
    assert record.totals.llm_calls == calls
    assert record.extra is not None
    assert record.extra["limits"] == {
        key: value if isinstance(value, int) else str(value) for key, value in limit.items()
    }


def test_calls_without_a_price_are_said() -> None:
    record = spend(None, max_cost=Decimal("0.1"), max_steps=3)
    assert record.end_reason is EndReason.MAX_STEPS
    assert record.extra is not None
    assert record.extra["limits"] == {"max_cost": "0.1", "calls_without_a_price": 3}


def test_what_abandoned_steps_took_counts_too() -> None:
    policy = RecoveryPolicy(
        loop_shortest=2, loop_longest=2, steps_before=0, recoveries=5, settle_ms=1
    )
    record = spend(max_tokens=500, policy=policy, max_steps=50)
    assert record.end_reason is EndReason.TOKEN_LIMIT
    assert record.totals.llm_calls == 5
    assert record.extra is not None
    assert record.extra["recovery"]["recoveries"] == 2  # type: ignore[index, call-overload] # JSON


def test_without_limits_nothing_is_said_of_them() -> None:
    assert "limits" not in (spend(max_steps=1).extra or {})
    assert Spending().summary() is None
