"""The form that asks how to run again."""

from __future__ import annotations

import uuid
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from runs.runnable import agent_choices
from runs.services.reruns import Wish

MAX_TRIALS = 20
SAME = ""


class RerunForm(forms.Form):
    """Agent, seed and number of trials; `token` tells one click from another."""

    class Seeds:
        SAME, NEW, FIXED = "same", "new", "fixed"

    agent = forms.ChoiceField(label=_("Agent"), required=False)
    seeds = forms.ChoiceField(
        label=_("Seed"),
        widget=forms.RadioSelect,
        choices=[
            (Seeds.SAME, _("as before")),
            (Seeds.NEW, _("a new one for every trial")),
            (Seeds.FIXED, _("this one, further trials count up")),
        ],
        initial=Seeds.SAME,
    )
    seed = forms.IntegerField(
        label=_("Seed number"), required=False, min_value=0, max_value=2**31 - 1
    )
    trials = forms.IntegerField(label=_("Trials"), min_value=1, max_value=MAX_TRIALS, initial=1)
    max_steps = forms.IntegerField(
        label=_("Step limit"),
        required=False,
        min_value=1,
        max_value=1000,
        help_text=_("Empty: as before."),
    )
    experiment = forms.CharField(
        label=_("Experiment"),
        required=False,
        max_length=200,
        help_text=_("Gathers the new runs under a name, if you want that."),
    )
    token = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, same_words: str | None, **options: Any) -> None:
        """`same_words` names the agents as they were; None where they cannot run here."""
        options["initial"] = {"token": uuid.uuid4()} | (options.get("initial") or {})
        super().__init__(*args, **options)
        choices = agent_choices()
        if same_words is not None:
            choices.insert(0, (SAME, same_words))
        agent = self.fields["agent"]
        assert isinstance(agent, forms.ChoiceField)  # noqa: S101 (mypy)
        agent.choices = choices
        agent.required = same_words is None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("seeds") == self.Seeds.FIXED and cleaned.get("seed") is None:
            self.add_error("seed", _("Say which seed."))
        return cleaned

    def wish(self) -> Wish:
        """What was asked for; the form must be valid."""
        asked = self.cleaned_data
        return Wish(
            token=asked["token"],
            agent=asked["agent"] or None,
            seed=asked["seed"] if asked["seeds"] == self.Seeds.FIXED else None,
            new_seeds=asked["seeds"] == self.Seeds.NEW,
            trials=asked["trials"],
            max_steps=asked["max_steps"],
            experiment=asked["experiment"],
        )
