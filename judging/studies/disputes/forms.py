"""Contributions to a dispute and its decision."""

from django import forms
from django.utils.translation import gettext_lazy as _

from judging.models import ReferenceVerdict

MAX_TEXT = 5000


class MessageForm(forms.Form):
    """A contribution; annotators may add the verdict they now propose."""

    text = forms.CharField(
        label=_("Your contribution"),
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": _("Write something first.")},
    )
    proposal = forms.ChoiceField(
        label=_("The verdict you propose now"),
        required=False,
        choices=[("", _("none")), *ReferenceVerdict.Verdict.choices],
    )


class DecisionForm(forms.Form):
    """The adjudicator's verdict and why."""

    verdict = forms.ChoiceField(
        label=_("Reference verdict"),
        choices=ReferenceVerdict.Verdict.choices,
        widget=forms.RadioSelect,
        error_messages={"required": _("Choose a verdict.")},
    )
    rationale = forms.CharField(
        label=_("Why"),
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 4}),
        error_messages={"required": _("A decision needs a reason that all annotators can read.")},
    )
    version = forms.IntegerField(widget=forms.HiddenInput)
