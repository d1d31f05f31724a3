"""What somebody asks for in the form: over which runs, by what, within which bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from judging.evaluating.batch_services import estimate_batch, start_batch
from judging.evaluating.cost_estimates import Estimate
from judging.evaluating.evaluating import Again
from judging.evaluating.forms import EvaluateForm
from judging.evaluating.words import estimate_in_words
from judging.evaluators.contract import Evaluator
from judging.evaluators.language_models import ModelUnavailableError
from judging.models import EvaluationBatch, Study
from runs.models import Run, RunStatus, User
from runs.queue.paid_work import WorkRefusedError

MOST_SELECTED = 1000


def selected_runs(user: User, run_ids: Sequence[UUID]) -> list[UUID]:
    """Those of the runs that have ended and whose verdicts the person may know, in order."""
    shown = Run.objects.visible_to(user, run_ids[:MOST_SELECTED]).filter(
        status__in=RunStatus.ended()
    )
    known = set(shown.not_blind().order_by().values_list("pk", flat=True))
    return [run_id for run_id in run_ids if run_id in known]


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateLine:
    """What one evaluator would take, in words, or why it cannot be asked."""

    name: str
    words: str
    is_problem: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """A form with the runs that it is about: a study's, or a selection."""

    form: EvaluateForm
    study: Study | None
    run_ids: Sequence[UUID]
    user: User

    def estimates(self) -> list[EstimateLine]:
        """One line for each evaluator that is ticked; none while the form makes no sense."""
        if not self.form.is_valid():
            return []
        return [self._line(evaluator) for evaluator in self.form.chosen()]

    @transaction.atomic
    def start(self) -> list[EvaluationBatch]:
        """One batch for each evaluator, or none at all.

        Raises:
            WorkRefusedError: one of them cannot start.
        """
        return [self._start(evaluator) for evaluator in self.form.chosen()]

    def _start(self, evaluator: Evaluator) -> EvaluationBatch:
        try:
            expected = self._expected(evaluator)
        except ModelUnavailableError as error:
            raise WorkRefusedError(str(error)) from error
        if not expected.n_runs:
            name = evaluator.identity.name
            raise WorkRefusedError(_("%(name)s has no run left to evaluate.") % {"name": name})
        return start_batch(
            evaluator=evaluator,
            max_cost=self.form.cleaned_data.get("max_cost"),
            expected=expected,
            user=self.user,
            **self._runs(),
        )

    def _line(self, evaluator: Evaluator) -> EstimateLine:
        name = evaluator.identity.name
        try:
            expected = self._expected(evaluator)
        except ModelUnavailableError as error:
            return EstimateLine(name=name, words=str(error), is_problem=True)
        return EstimateLine(name=name, words=estimate_in_words(expected))

    def _expected(self, evaluator: Evaluator) -> Estimate:
        return estimate_batch(evaluator, **self._runs())

    def _runs(self) -> dict[str, Any]:
        return {
            "study": self.study,
            "run_ids": self.run_ids,
            "again": Again(self.form.cleaned_data["again"]),
            "limit": self.form.cleaned_data.get("limit"),
        }
