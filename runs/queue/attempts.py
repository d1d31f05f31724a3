"""Attempts: a run that broke for no fault of its agent is tried again, as a new row."""

from __future__ import annotations

import random
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from runs.models import Experiment, ExperimentState, Run, RunStatus, User
from runs.models.policies import body_of
from runs.models.signals import announce_ends
from runs.models.workers import from_now
from webagent.agents.running import SOURCE_FORMAT
from webagent.recovery.retry_policy import Infrastructure
from webagent.trajectory.faults import Fault


def announce(run_id: UUID) -> None:
    """Say that the run has ended, once the transaction stands."""
    transaction.on_commit(partial(announce_ends, Run, [run_id]))


def follow_up(
    run: Run, fault: Fault | None, *, may_pass: bool = True, at_least_s: float = 0
) -> Run | None:
    """Queue the next attempt of a run that just ended in an error; None where there is none.

    Its policy, or else the settings, say after what, how often and when. Call it in the
    transaction that ends the run: either both stand or neither.

    Args:
        fault: what of the infrastructure broke the run; None if that is not to blame.
        may_pass: whether another attempt may be spared it.
        at_least_s: no attempt before so many seconds, whatever the policy says.
    """
    wait_s = wait_before_next(run, fault, may_pass=may_pass)
    if wait_s is None or _is_called_off(run):
        return None
    return next_attempt(run, delay_s=max(wait_s, at_least_s))


def _is_called_off(run: Run) -> bool:
    """Whether its experiment was cancelled meanwhile."""
    if run.experiment_id is None:
        return False
    cancelled = Experiment.objects.filter(state=ExperimentState.CANCELLED)
    return cancelled.filter(pk=run.experiment_id).exists()


def next_attempt(run: Run, *, delay_s: float = 0, created_by: User | None = None) -> Run:
    """A new, queued row for the same trial; the old one is superseded by it.

    Raises:
        IntegrityError: the run has a next attempt already.
    """
    later = Run.objects.create(
        task=run.task,
        agent=run.agent,
        experiment=run.experiment,
        seed=run.seed,
        trial=run.trial,
        max_steps=run.max_steps,
        priority=run.priority,
        queued_at=Now(),
        policy=run.policy,
        launch=run.launch,
        rerun_rule=run.rerun_rule,
        source_format=SOURCE_FORMAT,
        status=RunStatus.QUEUED,
        rerun_of=run.rerun_of,
        retry_of=run,
        family=run.root,
        attempt=run.attempt + 1,
        created_by=created_by or run.created_by,
        not_before=from_now(delay_s),
    )
    Run.objects.filter(pk=run.pk).update(superseded=True)
    return later


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
