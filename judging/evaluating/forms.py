"""Choosing what evaluates which runs, and what it may cost."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from judging.evaluating.evaluating import Again
from judging.evaluators.choices import evaluator_choices
from judging.evaluators.contract import Evaluator
from judging.evaluators.language_models import ModelOffer
from runs.queue.work_forms import CostLimitField


class EvaluateForm(forms.Form):
    """Evaluators, the model that they ask, and the bounds of a batch."""

    evaluators = forms.MultipleChoiceField(
        label=_("Evaluators"),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one evaluator.")},
    )
    model = forms.ChoiceField(
        label=_("Language model"),
        required=False,
        help_text=_("Asked by judges and pipelines. Saved ones keep their own."),
    )
    again = forms.ChoiceField(
        label=_("Which runs"),
        choices=Again.choices,
        initial=Again.NEVER,
        widget=forms.RadioSelect,
        help_text=_(
            "Earlier evaluations stay in the history. Whoever asks for another one has the model "
            "asked anew, at its price."
        ),
    )
    limit = forms.IntegerField(
        label=_("At most so many runs"), required=False, min_value=1, max_value=10_000_000
    )
    max_cost = CostLimitField(
        help_text=_("For each evaluator. What is left once it is reached stays not evaluated.")
    )

    def __init__(
        self, *args: Any, models: list[ModelOffer], default_model: str | None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.choices = {choice.key: choice for choice in evaluator_choices()}
        usable = [offer for offer in models if not offer.missing]
        self.has_model = bool(usable)
        shown = [choice for choice in self.choices.values() if self.has_model or not choice.asks]
        evaluators = cast("forms.ChoiceField", self.fields["evaluators"])
        evaluators.choices = [(choice.key, choice.words) for choice in shown]
        names = [(offer.name, _model_words(offer)) for offer in usable]
        cast("forms.ChoiceField", self.fields["model"]).choices = names
        if default_model in dict(names):
            self.fields["model"].initial = default_model
        if not self.has_model:
            for name in ("model", "max_cost"):
                del self.fields[name]

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        chosen = [self.choices[key] for key in self.cleaned_data.get("evaluators", [])]
        if any(choice.asks_chosen for choice in chosen) and not self.cleaned_data.get("model"):
            self.add_error("model", _("Choose the model that these evaluators ask."))
        return cleaned

    def chosen(self) -> list[Evaluator]:
        """The evaluators of a valid form, ready to be named in a batch."""
        model = self.cleaned_data.get("model") or None
        return [self.choices[key].make(model) for key in self.cleaned_data["evaluators"]]


def _model_words(offer: ModelOffer) -> str:
    if offer.has_price:
        return offer.name
    return str(_("%(name)s (price unknown)")) % {"name": offer.name}
