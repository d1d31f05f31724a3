"""The form of a new token of the API."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from runs.models import ApiToken, Scope

LIVES = [
    (7, _("7 days")),
    (30, _("30 days")),
    (90, _("90 days")),
    (365, _("a year")),
]
USUAL_LIFE_DAYS = 90


class TokenForm(forms.Form):
    """What it is for, what it may be used for, and how long."""

    name = forms.CharField(
        label=_("Name"),
        max_length=ApiToken._meta.get_field("name").max_length,
        help_text=_("What will use it, such as “nightly import”."),
    )
    scopes = forms.TypedMultipleChoiceField(
        label=_("It may"),
        choices=Scope.choices,
        coerce=Scope,
        initial=[Scope.RUNS_READ],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one.")},
        help_text=_("Never more than you may yourself."),
    )
    days = forms.TypedChoiceField(
        label=_("It expires after"), choices=LIVES, coerce=int, initial=USUAL_LIFE_DAYS
    )
