"""Policies whose answer to stuck agents comes too late are told before the launch."""

import re
from typing import Any

import pytest

from runs.launching.experiments.plans import Plan, read_agent
from runs.launching.experiments.services import late_responses
from runs.launching.policies.services import save_policy
from runs.models import RetryPolicy
from tests.runs.factories import make_task
from webagent.recovery.retry_policy import PolicyBody

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("counts at hand")]


def make_policy(**body: Any) -> RetryPolicy:
    return save_policy(name="Mine", body=PolicyBody.model_validate(body), is_new=False)


def told(policy: RetryPolicy | None, **wanted: Any) -> list[tuple[str, ...]]:
    """Of each remark, after how many steps, and too late for how many runs."""
    agents = (read_agent("looping"), read_agent('looping:{"max_steps": 30}'))
    tasks = (make_task(), make_task(max_steps=10))
    plan = Plan(name="Tried", tasks=tasks, agents=agents, trials=2, policy=policy, **wanted)
    return [tuple(re.findall(r"\d+", words)) for words in late_responses(plan)]


def test_a_run_that_ends_with_the_step_that_completes_a_loop_leaves_no_room_for_an_answer() -> None:
    policy = make_policy(recovery={"loop_shortest": 15, "false_completions": 11})
    assert told(policy, max_steps=16) == []
    assert told(policy, max_steps=15) == [("15", "8", "8")]
    assert told(policy, max_steps=11) == [("15", "8", "8"), ("11", "8", "8")]
    assert told(None, max_steps=11) == []


def test_each_run_is_held_to_its_own_limit_and_the_policys() -> None:
    policy = make_policy(recovery={"on_false_completion": "ignore"})
    assert told(policy) == [("15", "6", "8")], "of task, configuration, or as usual: 15"
    assert told(policy, has_limits=True) == [("15", "4", "8")]
    short = make_policy(recovery={"on_false_completion": "ignore"}, run={"steps": 12})
    assert told(short, max_steps=40) == [("15", "8", "8")]
    assert told(make_policy(recovery={"on_loop": "ignore"}), max_steps=15) == []
