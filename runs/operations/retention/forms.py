"""Forms for how much an experiment may hold, and for what is deleted."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from runs.models import Experiment

GB = 10**9


class LimitsForm(forms.Form):
    """Quotas and the rule of an experiment; an empty field is no limit."""

    max_runs = forms.IntegerField(
        label=_("At most so many runs"), required=False, min_value=0, max_value=10**9
    )
    max_gb = forms.FloatField(
        label=_("At most so many GB of files"),
        required=False,
        min_value=0,
        max_value=10**6,
        help_text=_("Imports, pushed runs and reruns beyond are refused."),
    )
    keep_days = forms.IntegerField(
        label=_("Keep runs for so many days"),
        required=False,
        min_value=1,
        max_value=100_000,
        help_text=_("After that they are put away by themselves, and deleted later."),
    )

    @classmethod
    def of(cls, experiment: Experiment) -> LimitsForm:
        """The form as the experiment is now."""
        size = experiment.max_bytes
        return cls(
            initial={
                "max_runs": experiment.max_runs,
                "max_gb": None if size is None else size / GB,
                "keep_days": experiment.keep_days,
            }
        )

    @property
    def limits(self) -> dict[str, Any]:
        """What `set_limits` takes."""
        size = self.cleaned_data["max_gb"]
        return {
            "max_runs": self.cleaned_data["max_runs"],
            "max_bytes": None if size is None else int(size * GB),
            "keep_days": self.cleaned_data["keep_days"],
        }


class DeletionForm(forms.Form):
    """Why runs go, and the name of their experiment once more."""

    reason = forms.CharField(label=_("Why they go"), max_length=200)
    name = forms.CharField(label=_("The experiment's name, to be sure"), max_length=200)

    def __init__(self, *args: Any, experiment: Experiment, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.experiment = experiment

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name.strip() != self.experiment.name.strip():
            raise forms.ValidationError(_("This is not its name."))
        return name
