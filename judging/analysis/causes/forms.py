"""Why an evaluator was wrong: the form for one error, and for many at once."""

from __future__ import annotations

from collections.abc import Iterator

from django import forms
from django.forms.boundfield import BoundWidget
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from judging.analysis.causes.services import Tagging
from judging.models import Cause, CauseTag, Repair
from judging.studies.forms import note_field
from runs.models.parsing import read_number

MAX_NOTE = 5000
CAUSE_KEYS = "1234567890-"
REPAIR_KEYS = "qwe"


class CauseForm(forms.Form):
    """Causes and the place of the repair; at least one cause, exactly one place."""

    causes = forms.MultipleChoiceField(
        label=_("Causes"),
        choices=Cause.choices,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one cause.")},
    )
    repair = forms.ChoiceField(
        label=_("The repair belongs to"),
        choices=Repair.choices,
        widget=forms.RadioSelect,
        error_messages={"required": _("Choose where the repair belongs, or neither.")},
    )
    note = note_field(MAX_NOTE)

    @classmethod
    def about(cls, tag: CauseTag | None) -> CauseForm:
        """The form as the tag has it; blank where there is none."""
        if tag is None:
            return cls()
        return cls(initial={"causes": tag.causes, "repair": tag.repair, "note": tag.note})

    @property
    def tagging(self) -> Tagging:
        """What a valid form says."""
        return Tagging(
            causes=frozenset(Cause(cause) for cause in self.cleaned_data["causes"]),
            repair=Repair(self.cleaned_data["repair"]),
            note=self.cleaned_data["note"],
        )

    def keyed_causes(self) -> Iterator[tuple[BoundWidget, str]]:
        """The causes to choose from, each with its key."""
        return zip(self["causes"], CAUSE_KEYS, strict=True)

    def keyed_repairs(self) -> Iterator[tuple[BoundWidget, str]]:
        """The places to choose from, each with its key."""
        return zip(self["repair"], REPAIR_KEYS, strict=True)


class SelectedErrorsForm(CauseForm):
    """The same for the chosen rows of a cell; what is no error of the cell is not tagged."""

    def clean(self) -> None:
        if not self.chosen:
            raise forms.ValidationError(_("Select runs in the table first."))

    @property
    def chosen(self) -> list[int]:
        """Ids of the chosen study items."""
        given = self.data.getlist("item") if isinstance(self.data, QueryDict) else []
        return [pk for text in given if (pk := read_number(text)) is not None]


class UndoForm(forms.Form):
    """Which batch is taken back."""

    batch = forms.UUIDField()
