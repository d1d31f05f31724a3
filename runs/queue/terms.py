"""What a run's policy, or else the settings, allow it and do for it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from decimal import Decimal

from django.conf import settings

from runs.catalogue.agents.runnable import DEFAULT_MAX_STEPS, chosen_agent
from runs.models import Run
from runs.models.policy_documents import body_of
from webagent.agents.agent import Agent
from webagent.recovery.policy import RecoveryPolicy
from webagent.recovery.retry_policy import Infrastructure, PolicyBody
from webagent.trajectory.faults import Fault


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


def wait_before_next(run: Run, fault: Fault | None, *, may_pass: bool) -> float | None:
    """Seconds to wait before the next attempt of a run that broke; None if there is none.

    Args:
        fault: what of the infrastructure broke it; None if that is not to blame.
        may_pass: whether another attempt may be spared it, as far as the engine knows. A policy
            that names the fault knows better.
    """
    patience = body_of(run.policy).infrastructure if run.policy else None
    is_covered = may_pass if patience is None else fault in patience.faults
    patience = patience or _as_set()
    if fault is None or not is_covered or run.attempt >= patience.attempts:
        return None
    spread: float = random.uniform(0.5, 1.5)  # noqa: S311 (spreads load, guards nothing)
    return patience.wait_s(run.attempt) * spread


def _as_set() -> Infrastructure:
    """What the settings say, for runs whose policy says nothing."""
    first = settings.ENV.RETRY_BACKOFF_S
    doubled = first * 2.0**settings.ENV.MAX_ATTEMPTS
    return Infrastructure(
        attempts=settings.ENV.MAX_ATTEMPTS,
        backoff_s=min(first, 86_400),
        backoff_cap_s=min(doubled, 86_400),
    )
