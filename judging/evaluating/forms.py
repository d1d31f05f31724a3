"""Choosing what evaluates which runs, and what it may cost."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from django import forms
from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.evaluating.evaluating import Again
from judging.evaluating.services import estimate_batch, estimate_in_words, start_batch
from judging.evaluators.contract import Evaluator
from judging.evaluators.registry import evaluator_choices
from judging.models import EvaluationBatch, Study
from runs.catalogue.language_models import ModelOffer, ModelUnavailableError, usable_models
from runs.models import Run, User
from runs.queue.paid_work import WorkRefusedError
from runs.queue.paid_work_services import CostLimitField


class EvaluateForm(forms.Form):
    """Evaluators, the model that they ask, and the bounds of a batch over a study or some runs."""

    evaluators = forms.MultipleChoiceField(
        label=_("evaluators"),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one.")},
    )
    model = forms.ChoiceField(
        label=_("Language model"),
        required=False,
        help_text=_("For judges and pipelines. Saved ones keep their own."),
    )
    again = forms.ChoiceField(
        label=_("which runs"),
        choices=Again.choices,
        initial=Again.NEVER,
        widget=forms.RadioSelect,
        help_text=_(
            "Earlier evaluations stay in the history. The model is asked again, at its price."
        ),
    )
    limit = forms.IntegerField(
        label=_("Maximum number of runs"), required=False, min_value=1, max_value=10_000_000
    )
    max_cost = CostLimitField(help_text=_("For each evaluator."))

    def __init__(
        self, *args: Any, study: Study | None, run_ids: Sequence[UUID] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.study, self.run_ids = study, run_ids
        self.choices = {choice.key: choice for choice in evaluator_choices()}
        usable, self.why_no_model = usable_models()
        self.has_model = bool(usable)
        shown = [choice for choice in self.choices.values() if self.has_model or not choice.asks]
        evaluators = cast("forms.ChoiceField", self.fields["evaluators"])
        evaluators.choices = [(choice.key, choice.words) for choice in shown]
        names = [(offer.name, _model_words(offer)) for offer in usable]
        cast("forms.ChoiceField", self.fields["model"]).choices = names
        if settings.ENV.JUDGE_MODEL in dict(names):
            self.fields["model"].initial = settings.ENV.JUDGE_MODEL
        if not self.has_model:
            for name in ("model", "max_cost"):
                del self.fields[name]

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        chosen = [self.choices[key] for key in self.cleaned_data.get("evaluators", [])]
        if any(choice.asks_chosen for choice in chosen) and not self.cleaned_data.get("model"):
            self.add_error("model", _("Choose a model for these evaluators."))
        return cleaned

    def chosen(self) -> list[Evaluator]:
        """The evaluators of a valid form, ready to be named in a batch."""
        model = self.cleaned_data.get("model") or None
        return [self.choices[key].make(model) for key in self.cleaned_data["evaluators"]]

    def estimates(self) -> list[tuple[str, str, bool]]:
        """For each evaluator that is ticked: its name, what it would take, and whether these words
        say why it cannot be asked. None while the form makes no sense.
        """
        return [self._line(evaluator) for evaluator in self.chosen()] if self.is_valid() else []

    @transaction.atomic
    def start(self, user: User) -> list[EvaluationBatch]:
        """One batch for each evaluator, or none at all.

        Raises:
            WorkRefusedError: one of them cannot start.
        """
        return [self._start(evaluator, user) for evaluator in self.chosen()]

    def _start(self, evaluator: Evaluator, user: User) -> EvaluationBatch:
        try:
            expected = estimate_batch(evaluator, **self._runs())
        except ModelUnavailableError as error:
            raise WorkRefusedError(str(error)) from error
        if not expected.n_runs:
            name = evaluator.identity.name
            raise WorkRefusedError(
                gettext("%(name)s has no run left to evaluate.") % {"name": name}
            )
        return start_batch(
            evaluator=evaluator,
            max_cost=self.cleaned_data.get("max_cost"),
            expected=expected,
            user=user,
            **self._runs(),
        )

    def _line(self, evaluator: Evaluator) -> tuple[str, str, bool]:
        name = evaluator.identity.name
        try:
            expected = estimate_batch(evaluator, **self._runs())
        except ModelUnavailableError as error:
            return name, str(error), True
        return name, estimate_in_words(expected), False

    def _runs(self) -> dict[str, Any]:
        return {
            "study": self.study,
            "run_ids": self.run_ids,
            "again": Again(self.cleaned_data["again"]),
            "limit": self.cleaned_data.get("limit"),
        }


def _model_words(offer: ModelOffer) -> str:
    if offer.has_price:
        return offer.name
    return str(_("%(name)s (price unknown)")) % {"name": offer.name}


MOST_SELECTED = 1000


def selected_runs(user: User, run_ids: Sequence[UUID]) -> list[UUID]:
    """Those of the runs that have ended and whose verdicts the person may know, in order."""
    shown = Run.objects.visible_to(user, run_ids[:MOST_SELECTED]).ended()
    known = set(shown.not_blind().order_by().values_list("pk", flat=True))
    return [run_id for run_id in run_ids if run_id in known]
