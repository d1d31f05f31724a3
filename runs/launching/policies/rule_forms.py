"""The rules of reruns in the form of a policy: one row each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from runs.launching.agents import SAME_AGENT, OfferedAgents
from runs.launching.form_fields import WholeNumberField, offer
from runs.models import Run
from runs.models.extension import extension
from webagent.recovery.retry_policy import MAX_RULES, RerunRule, RerunWhen
from webagent.trajectory.records import Json

PREFIX = "rules"
WHEN = {
    RerunWhen.FAILED_OUTCOME: gettext_lazy("failed by the benchmark's outcome"),
    RerunWhen.FAILED_REFERENCE: gettext_lazy("failed by the reference verdict"),
    RerunWhen.FAILED_EVALUATOR: gettext_lazy("failed by an evaluator"),
    RerunWhen.MARKED: gettext_lazy("cause marked by annotators"),
    RerunWhen.BROKE: gettext_lazy("infrastructure error"),
    RerunWhen.LOOPED: gettext_lazy("agent stuck in a loop"),
    RerunWhen.FALSE_COMPLETION: gettext_lazy("agent repeatedly declared completion"),
    RerunWhen.AT_LIMIT: gettext_lazy("ended by a limit"),
}


class RuleForm(forms.Form):
    """One rule. Which of evaluator, cause and errors counts follows from `when`."""

    when = forms.ChoiceField(
        label=gettext_lazy("Rerun when"),
        choices=[(when.value, words) for when, words in WHEN.items()],
    )
    evaluator = forms.ChoiceField(label=gettext_lazy("evaluator"), required=False)
    cause = forms.ChoiceField(label=gettext_lazy("cause"), required=False)
    faults = forms.MultipleChoiceField(
        label=gettext_lazy("Only these errors"),
        choices=Run.Fault.choices,
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=gettext_lazy("None: all."),
    )
    at_most = WholeNumberField(
        label=gettext_lazy("Maximum reruns"), min_value=1, max_value=20, initial=1
    )
    agent = forms.ChoiceField(label=gettext_lazy("agent"), required=False)
    new_seed = forms.BooleanField(label=gettext_lazy("with a new seed"), required=False)

    def __init__(self, *args: Any, agents: OfferedAgents, **options: Any) -> None:
        super().__init__(*args, **options)
        known = extension().judgements
        # A rule that is here already keeps what it names.
        self._offer("evaluator", known.evaluators())
        self._offer("cause", known.causes())
        self._offer("agent", [("", str(SAME_AGENT)), *agents.choices])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("when") == RerunWhen.FAILED_EVALUATOR and not cleaned.get("evaluator"):
            self.add_error("evaluator", _("Choose one."))
        if cleaned.get("when") == RerunWhen.MARKED and not cleaned.get("cause"):
            self.add_error("cause", _("Choose one."))
        return cleaned

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        kept = self.initial.get(name)
        beside = [(kept, kept)] if kept and kept not in dict(choices) else []
        offer(self, name, [*choices, *beside])


if TYPE_CHECKING:
    _FormSet = forms.BaseFormSet[RuleForm]
else:
    _FormSet = forms.BaseFormSet


class RuleFormSet(_FormSet):
    """The rules in their order."""

    def kept(self) -> list[dict[str, Any]]:
        """What the rules say that are not to be removed; the set must be valid."""
        return [
            form.cleaned_data
            for form in self.forms
            if form.cleaned_data and not form.cleaned_data.get("DELETE")
        ]

    def clean(self) -> None:
        """No rule stands there twice."""
        if any(form.errors and not form.cleaned_data.get("DELETE") for form in self.forms):
            return
        agents: OfferedAgents = self.form_kwargs["agents"]
        keys = [RerunRule.model_validate(rule_values(rule, agents)).key for rule in self.kept()]
        if len(set(keys)) < len(keys):
            raise forms.ValidationError(_("Two rules are the same. Remove one."))


_rule_forms = forms.formset_factory(
    RuleForm,
    formset=RuleFormSet,
    extra=0,
    can_delete=True,
    max_num=MAX_RULES,
    validate_max=True,
    absolute_max=MAX_RULES + 1,
)


def rule_forms(data: Any, rules: Iterable[RerunRule], agents: OfferedAgents) -> RuleFormSet:
    """The forms of these rules; bound where there is data."""
    initial = [rule_initial(rule, agents) for rule in rules]
    made = _rule_forms(data, prefix=PREFIX, initial=initial, form_kwargs={"agents": agents})
    return cast("RuleFormSet", made)  # the factory's type forgets its base


def one_more_rule(data: Any) -> Any:
    """What was sent, with a fresh rule at its end."""
    data = data.copy()
    total = data.get(f"{PREFIX}-TOTAL_FORMS", "0")
    number = int(total) if total.isdecimal() and len(total) < 4 else 0
    if number < MAX_RULES:
        data[f"{PREFIX}-TOTAL_FORMS"] = str(number + 1)
        data[f"{PREFIX}-{number}-when"] = RerunWhen.FAILED_OUTCOME.value
        data[f"{PREFIX}-{number}-at_most"] = "1"
    return data


def rule_values(cleaned: dict[str, Any], agents: OfferedAgents) -> Json:
    """One rule of the document, from what its form was sent."""
    when = RerunWhen(cleaned["when"])
    agent = agents.get(cleaned["agent"])
    subject = {
        RerunWhen.FAILED_EVALUATOR: cleaned["evaluator"],
        RerunWhen.MARKED: cleaned["cause"],
    }.get(when, "")
    faults = cleaned["faults"] if when is RerunWhen.BROKE and cleaned["faults"] else None
    return {
        "when": when.value,
        "subject": subject,
        "faults": faults,
        "at_most": cleaned["at_most"],
        "agent": agent.model_dump(mode="json") if agent else None,
        "new_seed": cleaned["new_seed"],
    }


def rule_initial(rule: RerunRule, agents: OfferedAgents) -> dict[str, Any]:
    return {
        "when": rule.when.value,
        "evaluator": rule.subject if rule.when is RerunWhen.FAILED_EVALUATOR else "",
        "cause": rule.subject if rule.when is RerunWhen.MARKED else "",
        "faults": [fault.value for fault in rule.faults or ()],
        "at_most": rule.at_most,
        "agent": agents.value_of(rule.agent),
        "new_seed": rule.new_seed,
    }
