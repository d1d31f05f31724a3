"""Why a failure failed, and drawing a sample of failures."""

from __future__ import annotations

from collections.abc import Iterator

from django import forms
from django.forms.boundfield import BoundWidget
from django.utils.translation import gettext_lazy as _

from judging.analysis.miniwob.services import MAX_SEED, SIZE
from judging.models import FailureCause, FailureCauseTag
from judging.studies.forms import note_field

LONGEST_NOTE = 2000
KEYS = "123"


class FailureCauseForm(forms.Form):
    """Exactly one cause, and a note."""

    cause = forms.ChoiceField(
        label=_("What failed"),
        choices=FailureCause.choices,
        widget=forms.RadioSelect,
        error_messages={"required": _("Choose one.")},
    )
    note = note_field(LONGEST_NOTE)

    @classmethod
    def about(cls, tag: FailureCauseTag | None) -> FailureCauseForm:
        """The form as the tag has it; blank where there is none, whatever is proposed."""
        initial = {} if tag is None else {"cause": tag.cause, "note": tag.note}
        return cls(initial=initial, auto_id="why_%s")

    def keyed_causes(self) -> Iterator[tuple[BoundWidget, str]]:
        """The causes to choose from, each with its key."""
        return zip(self["cause"], KEYS, strict=True)


class SampleForm(forms.Form):
    """How many failures of which configuration are drawn, by which seed."""

    agent = forms.IntegerField(widget=forms.HiddenInput)
    size = forms.IntegerField(label=_("How many"), min_value=1, max_value=1000, initial=SIZE)
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=MAX_SEED - 1,
        required=False,
        widget=forms.NumberInput(attrs={"placeholder": _("drawn")}),
    )
