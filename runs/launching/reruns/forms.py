"""The form that asks how to run again."""

import uuid
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from runs.catalogue.agents.choices import OfferedAgents
from runs.launching.number_fields import WholeNumberField, offer
from runs.launching.reruns.services import RerunRequest
from runs.models import RetryPolicy, User
from webagent.agents.settings import MAX_STEPS

MAX_TRIALS = 20
SAME = ""
NO_POLICY = "none"


class RerunForm(forms.Form):
    """Agent, seed and number of trials; `token` tells one click from another."""

    step_limits = tuple(MAX_STEPS.values())

    class Seeds:
        SAME, NEW, FIXED = "same", "new", "fixed"

    agent = forms.ChoiceField(
        label=_("agent"), required=False, error_messages={"required": _("Choose one.")}
    )
    seeds = forms.ChoiceField(
        label=_("seed"),
        widget=forms.RadioSelect,
        choices=[
            (Seeds.SAME, _("as before")),
            (Seeds.NEW, _("a new one for every trial")),
            (Seeds.FIXED, _("the number below, then counted up")),
        ],
        initial=Seeds.SAME,
    )
    seed = WholeNumberField(
        label=_("Seed number"), required=False, min_value=0, max_value=2**31 - 1
    )
    trials = WholeNumberField(label=_("Trials"), min_value=1, max_value=MAX_TRIALS, initial=1)
    max_steps = WholeNumberField(
        label=_("step limit"),
        required=False,
        widget=forms.TextInput(attrs={"list": "step-limits"}),
        min_value=1,
        max_value=1000,
        help_text=_("Leave empty to keep the old value."),
    )
    policy = forms.ChoiceField(label=_("retry policy"), required=False)
    experiment = forms.CharField(label=_("experiment"), required=False, max_length=200)
    token = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, same_words: str | None, user: User, **options: Any) -> None:
        """`same_words` names the agents as they were; None where they cannot run here."""
        options["initial"] = {"token": uuid.uuid4()} | (options.get("initial") or {})
        super().__init__(*args, **options)
        self.offered = OfferedAgents(user)
        choices = self.offered.choices
        # Where the own agent cannot run, nobody is taken by accident.
        choices.insert(0, (SAME, same_words or gettext("choose one")))
        offer(self, "agent", choices)
        self.fields["agent"].required = same_words is None
        policies = ((str(row.pk), row.label) for row in RetryPolicy.objects.latest_versions())
        usual = [(SAME, _("as before")), (NO_POLICY, _("default settings"))]
        offer(self, "policy", [*usual, *policies])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("seeds") == self.Seeds.FIXED and cleaned.get("seed", 0) is None:
            self.add_error("seed", _("Required."))
        return cleaned

    def rerun_request(self) -> RerunRequest:
        """What was asked for; the form must be valid."""
        asked = self.cleaned_data
        policy = asked["policy"]
        named = policy not in (SAME, NO_POLICY)
        return RerunRequest(
            token=asked["token"],
            agent=self.offered.get(asked["agent"]),
            policy=RetryPolicy.objects.get(pk=policy) if named else None,
            own_policy=policy == SAME,
            seed=asked["seed"] if asked["seeds"] == self.Seeds.FIXED else None,
            new_seeds=asked["seeds"] == self.Seeds.NEW,
            trials=asked["trials"],
            max_steps=asked["max_steps"],
            experiment=asked["experiment"],
        )
