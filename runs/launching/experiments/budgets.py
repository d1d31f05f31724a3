"""Budgets of batches: what the runs of an experiment or launch took; no run starts beyond one."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from runs.models import RetryPolicy, Run, RunStatus, Step
from runs.models.policies import body_of
from runs.queue.attempts import announce
from runs.queue.leases import Lease
from webagent.recovery.retry_policy import BatchLimits, LimitName, Spent, reached


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits that one policy sets for a batch, and what was spent."""

    policy: RetryPolicy
    limits: BatchLimits
    spent: Spent

    @property
    def reached(self) -> tuple[LimitName, ...]:
        """The limits that are used up; while there are any, no further run starts."""
        return reached(self.limits, self.spent)

    @property
    def is_spent(self) -> bool:
        return bool(self.reached)


def budget_of(run: Run) -> Budget | None:
    """The budget that holds for the run; None where its policy sets none.

    Its batch is its experiment, as far as the same policy holds there, or else its launch.
    """
    batch = _batch(run)
    if run.policy is None or batch is None:
        return None
    return _budget(run.policy, batch)


def spent_by(runs: QuerySet[Run]) -> Spent:
    """What these runs took, those under way up to their last step. Attempts count each."""
    ended = Q(status__in=RunStatus.ended())
    tokens = Coalesce(F("input_tokens"), 0) + Coalesce(F("output_tokens"), 0)
    sums = runs.aggregate(
        runs=Count("pk", filter=Q(started_at__isnull=False)),
        tokens=Sum(tokens, filter=ended),
        dollars=Sum("cost", filter=ended),
        seconds=Sum("seconds", filter=ended),
    )
    going = Step.objects.filter(run__in=runs.filter(status__in=RunStatus.active()).values("pk"))
    so_far = going.aggregate(tokens=Sum(tokens), dollars=Sum("cost"), seconds=Sum("seconds"))
    return Spent(
        runs=sums["runs"],
        tokens=(sums["tokens"] or 0) + (so_far["tokens"] or 0),
        dollars=(sums["dollars"] or Decimal(0)) + (so_far["dollars"] or Decimal(0)),
        seconds=(sums["seconds"] or 0.0) + (so_far["seconds"] or 0.0),
    )


def _batch(run: Run) -> QuerySet[Run] | None:
    if run.experiment_id is not None:
        return Run.objects.filter(experiment=run.experiment_id, policy=run.policy_id)
    if run.launch is not None:
        return Run.objects.filter(launch=run.launch, policy=run.policy_id)
    return None


def _budget(policy: RetryPolicy, batch: QuerySet[Run]) -> Budget | None:
    limits = body_of(policy).batch
    if limits == BatchLimits():
        return None
    return Budget(policy, limits, spent_by(batch))


@transaction.atomic
def refuse_beyond_budget(run: Run, lease: Lease) -> bool:
    """End a run that was claimed before it starts, if the budget of its batch is spent.

    Runs that start at the same moment in several workers do not see each other, so a batch may
    go beyond its budget by as many runs as there are browsers.

    Raises:
        LeaseLostError: the run is no longer ours.
    """
    budget = budget_of(run)
    if budget is None or not budget.is_spent:
        return False
    lease.end(
        RunStatus.CANCELLED,
        outcome=Run.Outcome.INCOMPLETE,
        end_reason=Run.EndReason.NEVER_STARTED,
        error_message=f"The budget of {budget.policy} for runs launched together is spent: "
        f"{', '.join(budget.reached)}.",
    )
    announce(run.pk)
    return True
