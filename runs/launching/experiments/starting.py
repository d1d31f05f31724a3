"""What holds a claimed run back before it starts: its batch's budget, and sites not ready."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from runs.launching.sites import unready_sites
from runs.models import Experiment, ExperimentState, RetryPolicy, Run, RunStatus, Step, Task
from runs.models.policies import body_of
from runs.queue.leases import Lease
from runs.queue.steps import retry_write
from runs.queue.sweeping import announce, swept
from webagent.recovery.retry_policy import BatchLimits, LimitName, Spent, reached

logger = logging.getLogger(__name__)


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
    if run.policy is None or (limits := body_of(run.policy).batch) == BatchLimits():
        return None
    if run.experiment_id is not None:
        batch = Run.objects.filter(experiment=run.experiment_id, policy=run.policy)
    elif run.launch is not None:
        batch = Run.objects.filter(launch=run.launch, policy=run.policy)
    else:
        return None
    return Budget(run.policy, limits, spent_by(batch))


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


@swept
def start_ready_experiments() -> None:
    """Let every experiment run whose sites have become ready; note what the others wait for."""
    waiting = Experiment.objects.filter(state=ExperimentState.WAITING)
    for experiment in waiting:
        tasks = Task.objects.filter(
            runs__experiment=experiment, runs__status=RunStatus.QUEUED
        ).distinct()
        why = unready_words(tasks)
        state = ExperimentState.WAITING if why else ExperimentState.RUNNING
        # Unless somebody has paused or cancelled it meanwhile.
        waiting.filter(pk=experiment.pk).update(state=state, waits_because=why)


def unready_words(tasks: Iterable[Task]) -> str:
    """The sites of these tasks that are not ready, each with what is wrong; "" if all are."""
    return "; ".join(f"{state.site}: {state.why}" for state in unready_sites(tasks))


def put_off_until_ready(run: Run, lease: Lease) -> bool:
    """Whether the run cannot start now: it waits again, or has waited long enough and ends.

    Call it before the run starts. The sites are asked at most every few seconds.

    Raises:
        LeaseLostError: the run is no longer ours.
    """
    why = unready_words([run.task])
    if not why:
        return False
    waited_s = (timezone.now() - run.waits_since).total_seconds() if run.waits_since else 0.0
    if waited_s < settings.ENV.SITE_PATIENCE_S:
        logger.warning("Run %s waits: %s.", run.pk, why)
        retry_write(lambda: lease.put_off(settings.ENV.SITE_WAIT_S))
    else:
        retry_write(lambda: _give_up(run, lease, f"Not ready after {waited_s:.0f} s: {why}"))
    return True


@transaction.atomic
def _give_up(run: Run, lease: Lease, why: str) -> None:
    lease.end(
        RunStatus.FAILED,
        outcome=Run.Outcome.ERROR,
        end_reason=Run.EndReason.NEVER_STARTED,
        error_origin=Run.ErrorOrigin.ENVIRONMENT,
        fault=Run.Fault.SITE_NOT_READY,
        error_message=why,
    )
    announce(run.pk)
