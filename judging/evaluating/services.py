"""Having an evaluator judge many runs in the background: start, cancel, resume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from judging.evaluating.batches import add_items
from judging.evaluating.cost_estimates import Estimate, estimate
from judging.evaluating.evaluating import Again, runs_of, runs_to_evaluate, version_of
from judging.evaluating.tasks import dispatch_batches
from judging.evaluators.contract import Evaluator
from judging.evaluators.registry import model_asked_by, usable_entry
from judging.models import EvaluationBatch, EvaluatorVersion, Study
from judging.studies.audit_kinds import EVALUATION_CANCELLED, EVALUATION_RESUMED, EVALUATION_STARTED
from runs.accounts.audit_log import record_entry
from runs.models import Run, RunStatus, User
from runs.queue.paid_work_services import check_limits, limit_to_resume, under_way


def runs_to_choose_from(study: Study | None, run_ids: Sequence[UUID]) -> list[UUID]:
    """The runs of a study in its order, or those of a selection that have ended."""
    if study is not None:
        return list(runs_of(study).values_list("pk", flat=True))
    ended = Run.objects.filter(pk__among=run_ids, status__in=RunStatus.ended())
    found = set(ended.values_list("pk", flat=True))
    return [run_id for run_id in dict.fromkeys(run_ids) if run_id in found]


def chosen_runs(
    evaluator: Evaluator,
    *,
    study: Study | None = None,
    run_ids: Sequence[UUID] = (),
    again: Again = Again.NEVER,
    limit: int | None = None,
) -> list[UUID]:
    """The runs that a batch would evaluate now, in order."""
    offered = runs_to_choose_from(study, run_ids)
    version = EvaluatorVersion.objects.filter(config_hash=evaluator.identity.config_hash).first()
    if version is None:
        return offered[:limit]
    wanted = runs_to_evaluate(version, Run.objects.filter(pk__among=offered), again)
    left = set(wanted.order_by().values_list("pk", flat=True))
    return [run_id for run_id in offered if run_id in left][:limit]


def estimate_batch(
    evaluator: Evaluator,
    *,
    study: Study | None = None,
    run_ids: Sequence[UUID] = (),
    again: Again = Again.NEVER,
    limit: int | None = None,
) -> Estimate:
    """What the batch would take.

    Raises:
        ModelUnavailableError: its model cannot be asked.
    """
    chosen = chosen_runs(evaluator, study=study, run_ids=run_ids, again=again, limit=limit)
    model = model_asked_by(evaluator)
    return estimate(evaluator, chosen, usable_entry(model) if model else None)


def start_batch(
    *,
    evaluator: Evaluator,
    study: Study | None = None,
    run_ids: Sequence[UUID] = (),
    again: Again = Again.NEVER,
    limit: int | None = None,
    max_cost: Decimal | None = None,
    expected: Estimate | None = None,
    user: User | None = None,
    is_told: bool = False,
) -> EvaluationBatch:
    """Queue a batch over a study or, without one, over these runs.

    Whoever sends the same twice, by a double click, gets the one under way.

    Args:
        is_told: the caller carries it out, so no worker is notified.

    Raises:
        WorkRefusedError: its model cannot be asked, or its limit of costs could not hold. Nothing
            is stored then, the evaluator's version included.
    """
    model = model_asked_by(evaluator)
    check_limits(model, max_cost, usable_entry)
    version = version_of(evaluator)
    options: dict[str, Any] = {
        "study": study,
        "evaluator": version,
        "model": model,
        "again": again,
        "limit": limit,
        "max_cost": max_cost if model else None,
    }
    chosen = None
    if study is None:
        chosen = chosen_runs(evaluator, run_ids=run_ids, again=again, limit=limit)
    with transaction.atomic():
        if user and (there := _under_way(user, options, chosen)):
            return there
        batch = EvaluationBatch.objects.create(
            **options,
            n_total=None if chosen is None else len(chosen),
            estimate=expected.as_json() if expected else {},
            created_by=user,
            dispatched_at=timezone.now() if is_told else None,
        )
        add_items(batch, chosen or ())
        of = f"study {study.pk}" if study else f"{len(chosen or ())} runs"
        words = f"{version.name} @{version.version}, {of}"
        record_entry(EVALUATION_STARTED, about=batch, words=words, user=user)
        if not is_told:
            transaction.on_commit(dispatch_batches)
    return batch


def _under_way(
    user: User, options: Mapping[str, Any], chosen: Sequence[UUID] | None
) -> EvaluationBatch | None:
    """The person's batch of the same options; of a selection, one over just these runs."""
    for batch in under_way(EvaluationBatch, user, options):
        runs = batch.items.order_by("position").values_list("run_id", flat=True)
        if chosen is None or list(runs) == list(chosen):
            return batch
    return None


def cancel_batch(*, batch: EvaluationBatch) -> bool:
    """Ask a batch to stop; what is done stays done. False if it had ended already."""
    with transaction.atomic():
        was_asked = EvaluationBatch.objects.request_cancel(batch.pk)
        if was_asked:
            record_entry(EVALUATION_CANCELLED, about=batch)
    return was_asked


def resume_batch(*, batch: EvaluationBatch, max_cost: Decimal | None = None) -> bool:
    """Queue a stopped batch again, where it stopped; False if there is nothing to resume.

    Args:
        max_cost: the new limit for all of it; as before where None.

    Raises:
        WorkRefusedError: its model cannot be asked, or what is spent has reached the limit.
    """
    limit = limit_to_resume(batch, max_cost, usable_entry)
    with transaction.atomic():
        resumed = EvaluationBatch.objects.resume(batch.pk, max_cost=limit)
        if resumed:
            record_entry(EVALUATION_RESUMED, about=batch)
            transaction.on_commit(dispatch_batches)
    return resumed
