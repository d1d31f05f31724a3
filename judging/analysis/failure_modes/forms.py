"""What a person says of how a run failed."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from judging.analysis.failure_modes.services import Statement
from judging.analysis.failure_modes.sources import NAMES, SIDES
from judging.studies.forms import note_field
from webagent.recovery.failure_kinds import OF_THE_AGENT, Mode, Side

LONGEST_NOTE = 2000


class FailureForm(forms.Form):
    """Modes, the side on which it went wrong, and a note. No mode says that none of them fits."""

    modes = forms.MultipleChoiceField(
        label=_("Failure modes"),
        choices=[(mode.value, NAMES[mode]) for mode in Mode],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    side = forms.ChoiceField(
        label=_("Where it went wrong"),
        choices=[("", _("not set")), *((side.value, SIDES[side]) for side in Side)],
        required=False,
        widget=forms.RadioSelect,
    )
    note = note_field(LONGEST_NOTE)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # It stands beside other forms with a note.
        super().__init__(*args, **{"auto_id": "failure_%s"} | kwargs)

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        modes = set(self.cleaned_data.get("modes", []))
        if Mode.ENVIRONMENT in modes and len(modes) > 1:
            self.add_error("modes", _("A failure is either the environment's or the agent's."))
        elif self.cleaned_data.get("side") and not modes & set(OF_THE_AGENT):
            self.add_error("side", _("Operation and reasoning take a mode."))
        return cleaned

    @property
    def statement(self) -> Statement:
        """What a valid form says."""
        side = self.cleaned_data["side"]
        return Statement(
            modes=frozenset(Mode(mode) for mode in self.cleaned_data["modes"]),
            side=Side(side) if side else None,
            note=self.cleaned_data["note"].strip(),
        )


class ChosenRunsForm(FailureForm):
    """The same of many runs at once, or confirming what is proposed for each."""

    action = forms.ChoiceField(choices=[(word, word) for word in ("confirm", "say", "undo")])
    batch = forms.UUIDField(required=False)
    back = forms.CharField(required=False, max_length=2000)
