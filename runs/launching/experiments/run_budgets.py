"""No run starts beyond the budget of its batch."""

from __future__ import annotations

from django.db import transaction

from runs.launching.experiments.budgets import budget_of
from runs.models import Run, RunStatus
from runs.queue.attempts import announce
from runs.queue.leases import Lease


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
