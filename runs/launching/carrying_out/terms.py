"""What a run's policy, or else the settings, allow it and do for it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.conf import settings

from runs.catalogue.agents.runnable import DEFAULT_MAX_STEPS, chosen_agent
from runs.models import Run
from runs.models.policy_documents import body_of
from webagent.agents.agent import Agent
from webagent.recovery.policy import RecoveryPolicy
from webagent.recovery.retry_policy import PolicyBody


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What `run_episode` is to know."""

    recovery: RecoveryPolicy | None
    other_agent: Agent | None
    max_steps: int
    time_limit_s: float
    max_tokens: int | None
    max_cost: Decimal | None


def terms_of(run: Run) -> Terms:
    """The terms of one run; its agents are new, for this run.

    Raises:
        NotRunnableError: the agent that takes over cannot run here.
    """
    body = body_of(run.policy) if run.policy else PolicyBody()
    limits, asked = body.run, run.max_steps or DEFAULT_MAX_STEPS
    longest = float(settings.ENV.RUN_TIME_LIMIT_S)
    return Terms(
        recovery=body.recovery,
        other_agent=None if body.other_agent is None else chosen_agent(body.other_agent),
        max_steps=min(asked, limits.steps or asked),
        time_limit_s=min(longest, limits.seconds or longest),
        max_tokens=limits.tokens,
        max_cost=limits.dollars,
    )
