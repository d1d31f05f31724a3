"""The demo's experiment: two stand-ins for models on six tasks, under a policy that recovers."""

from __future__ import annotations

from pathlib import Path

from judging.demo.stub_actors import CAREFUL, FORGETFUL, StubActor
from runs.catalogue.tasks.offered import Selection, tasks_of
from runs.launching.experiments.plans import Plan, read_seeds
from runs.launching.policies.services import save_policy
from runs.models import RetryPolicy
from webagent.agents.generic.agent import NAME as GENERIC
from webagent.agents.generic.agent import GenericAgent
from webagent.agents.generic.settings import AgentSettings
from webagent.agents.registry import AgentKind
from webagent.llm.registry import ModelEntry
from webagent.recovery.policy import RecoveryPolicy
from webagent.recovery.retry_policy import AgentChoice, PolicyBody

RECOVERY_FILE = Path(__file__).parent / "recovery.zip"

NAME = "Demo: stuck agents and a way out"
DESCRIPTION = (
    "Demo data. Two stubs of fixed rules stand in for language models, each behind the generic"
    " agent, in a real browser. The forgetful one gets stuck on some tasks; the policy then goes"
    " back and lets the careful one take over. Their figures say nothing of any model."
)
TASKS = (
    "miniwob.click-button",
    "miniwob.click-checkboxes",
    "miniwob.click-option",
    "miniwob.login-user",
    "miniwob.search-engine",
    "miniwob.simple-arithmetic",
)
SEEDS = "3-4"
TRIALS = 2
MAX_STEPS = 40
N_RUNS = 2 * len(TASKS) * TRIALS

POLICY = "Demo: leave loops early"
POLICY_DESCRIPTION = (
    "Demo data. Smaller numbers than the study's, so that a loop is short to read. The agent that"
    " takes over is a stub, which answers nobody but the recording of the demo."
)


def settings_of(model: str) -> dict[str, object]:
    """How both are set up, but for the model that answers."""
    return {"model": model, "benchmark": "miniwob", "actions": ["bid", "chat"], "examples": 0}


def policy_body() -> PolicyBody:
    """Loops of 6 to 10 steps, or 4 times "done": back by two steps, and 6 for the careful one."""
    other = AgentChoice.model_validate({"name": GENERIC, "config": settings_of(CAREFUL)})
    recovery = RecoveryPolicy(
        loop_shortest=6, loop_longest=10, false_completions=4, steps_before=2, other_steps=6
    )
    return PolicyBody(recovery=recovery, other_agent=other)


def demo_policy() -> RetryPolicy:
    """The policy's row; made if it is not here yet."""
    return save_policy(
        name=POLICY, body=policy_body(), description=POLICY_DESCRIPTION, is_new=False
    )


def plan_of(policy: RetryPolicy) -> Plan:
    """What is launched to record the runs."""
    make = stubbed_generic().make
    return Plan(
        name=NAME,
        tasks=tasks_of(Selection(task_set="miniwob", picked=TASKS), None),
        agents=tuple(make(**settings_of(model)).describe() for model in (FORGETFUL, CAREFUL)),
        trials=TRIALS,
        seeds=read_seeds(SEEDS, TRIALS),
        max_steps=MAX_STEPS,
        policy=policy,
    )


def stubbed_generic() -> AgentKind:
    """The generic agent, with the stubs for models."""
    return AgentKind(GENERIC, "Asks a stub of fixed rules for each action.", _stubbed, True)


def _stubbed(**config: object) -> GenericAgent:
    settings = AgentSettings.model_validate(config)
    entry = ModelEntry.model_validate(
        {"name": settings.model, "provider": "openai", "model": settings.model}
    )
    return GenericAgent(settings, StubActor(), entry)
