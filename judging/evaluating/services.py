"""Batches of evaluations: what they will cost, starting, stopping and resuming them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from math import ceil
from typing import Any, cast
from uuid import UUID

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from judging.evaluating.evaluating import (
    Again,
    add_items,
    logged_name,
    runs_of,
    runs_to_evaluate,
    version_of,
)
from judging.evaluating.tasks import dispatch_batches
from judging.evaluators.contract import AskingEvaluator, Evaluator
from judging.evaluators.registry import model_asked_by, usable_entry
from judging.models import Evaluation, EvaluationBatch, EvaluationBatchItem, EvaluatorVersion, Study
from judging.studies.access import (
    EVALUATION_CANCELLED,
    EVALUATION_RESUMED,
    EVALUATION_STARTED,
    studies_hidden_from,
)
from runs.accounts.audit_log import record_entry
from runs.interface.words import money
from runs.models import Run, User
from runs.models.visibility import run_policy
from runs.queue.paid_work_services import check_limits, limit_to_resume
from webagent.llm.budget import price_of
from webagent.llm.registry import ModelEntry

SAMPLE = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Rather too much than too little: every stage is asked, and replies are as long as they may.

    Nothing is subtracted for replies that are kept from before. `n_asking`: runs for which the
    model is asked. `cost` in US dollars, None where the model's price is unknown.
    """

    n_runs: int
    n_sampled: int = 0
    n_asking: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Decimal | None = None
    asks_model: bool = True

    def as_json(self) -> dict[str, object]:
        """The estimate as it is kept with a batch."""
        return asdict(self) | {"cost": None if self.cost is None else f"{self.cost:f}"}


def estimate(evaluator: Evaluator, run_ids: Sequence[UUID], entry: ModelEntry | None) -> Estimate:
    """What evaluating these runs takes, from the requests for some of them, spread evenly.

    Args:
        entry: the model; None for evaluators that ask none.
    """
    if entry is None:
        return Estimate(n_runs=len(run_ids), cost=Decimal(0), asks_model=False)
    ids = _spread(run_ids, SAMPLE)
    runs = Run.objects.filter(pk__in=ids).select_related("task__task_set")
    asking = cast("AskingEvaluator", evaluator)
    tokens = [asking.estimate(run) for run in runs]
    share = len(run_ids) / len(tokens) if tokens else 0
    taken = ceil(share * sum(given for given, _ in tokens))
    written = ceil(share * sum(given for _, given in tokens))
    return Estimate(
        n_runs=len(run_ids),
        n_sampled=len(tokens),
        n_asking=round(share * sum(given > 0 for given, _ in tokens)),
        input_tokens=taken,
        output_tokens=written,
        cost=price_of(taken, written, entry),
    )


def _spread(ids: Sequence[UUID], most: int) -> list[UUID]:
    if len(ids) <= most:
        return list(ids)
    return [ids[place * len(ids) // most] for place in range(most)]


def estimate_in_words(expected: Estimate) -> str:
    """One line: how many runs, for how many of them a model is asked, and the price."""
    runs = ngettext("%(n)s run", "%(n)s runs", expected.n_runs) % {"n": intcomma(expected.n_runs)}
    if not expected.asks_model:
        return _("%(runs)s; no language model is asked, at no cost.") % {"runs": runs}
    if not expected.n_runs:
        return _("No run left to evaluate.")
    if not expected.n_asking:
        return _("%(runs)s; the model is probably asked for none of them.") % {"runs": runs}
    asked = _("%(runs)s, the model is asked for about %(n)s of them: up to %(tokens)s tokens") % {
        "runs": runs,
        "n": intcomma(expected.n_asking),
        "tokens": intcomma(expected.input_tokens + expected.output_tokens),
    }
    if expected.cost is None:
        return _("%(name)s (price unknown)") % {"name": asked}
    return _("%(asked)s, at most about %(cost)s.") % {"asked": asked, "cost": money(expected.cost)}


def result_in_words(batch: EvaluationBatch, already: int) -> str:
    """How many runs were evaluated, with what result."""
    made = {each: n for each in Evaluation.Verdict if (n := getattr(batch, f"n_{each.value}"))}
    parts = ", ".join(f"{count} {verdict.label}" for verdict, count in made.items())
    return _("%(n)s evaluated%(result)s, %(already)s already had an evaluation") % {
        "n": sum(made.values()),
        "result": f" ({parts})" if parts else "",
        "already": already,
    }


def runs_to_choose_from(study: Study | None, run_ids: Sequence[UUID]) -> list[UUID]:
    """The runs of a study in its order, or those of a selection that have ended."""
    if study is not None:
        return list(runs_of(study).values_list("pk", flat=True))
    ended = Run.objects.whole().ended().filter(pk__among=run_ids)
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
    notifies: bool = True,
) -> EvaluationBatch:
    """Queue a batch over a study or, without one, over these runs.

    Whoever sends the same twice, by a double click, gets the one under way.

    Args:
        notifies: workers; False where the caller carries it out.

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
            dispatched_at=None if notifies else timezone.now(),
        )
        add_items(batch, chosen or ())
        of = f"study {study.pk}" if study else f"{len(chosen or ())} runs"
        words = f"{logged_name(version)}, {of}"
        record_entry(EVALUATION_STARTED, about=batch, words=words, user=user)
        if notifies:
            transaction.on_commit(dispatch_batches)
    return batch


def _under_way(
    user: User, options: Mapping[str, Any], chosen: Sequence[UUID] | None
) -> EvaluationBatch | None:
    """The person's batch of the same options; of a selection, one over just these runs."""
    for batch in EvaluationBatch.objects.active_of(user, **options):
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


def batches_shown_to(user: User) -> QuerySet[EvaluationBatch]:
    """Batches over nothing to which the person is blinded, newest first."""
    batches = EvaluationBatch.objects.select_related("evaluator", "study", "created_by")
    blind = run_policy().blind_runs(user)
    if blind is None:
        return batches
    items = EvaluationBatchItem.objects.filter(batch=OuterRef("pk"))
    hidden = Exists(items.filter(run__in=blind.values("pk")))
    of_hidden_study = Exists(studies_hidden_from(user).filter(pk=OuterRef("study")))
    return batches.exclude(hidden).exclude(of_hidden_study)
