"""The form that takes a file with labels, verdicts or adjudications."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext_lazy as _

from judging.portability.judgements.rows import unreadable
from judging.studies.imported import NAME_CHARS, StudyNameError, check_study_name
from runs.models import User

MOST_BYTES = 200 * 1024 * 1024
"""A row takes a few hundred bytes, so this is about a million of them."""
STUDIES = "imported-studies"
"""The list of names to pick from, in the page beside the form."""


class LabelImportForm(forms.Form):
    """A file, and the study that its labels belong to."""

    study = forms.CharField(
        label=_("Study"),
        max_length=NAME_CHARS,
        widget=forms.TextInput(attrs={"list": STUDIES, "autocomplete": "off"}),
        help_text=_(
            "A new name makes a closed study, marked as imported; the name of "
            "an imported study adds to it. Studies that people work on here "
            "are never changed."
        ),
    )
    file = forms.FileField(
        label=_("CSV, TSV or JSON Lines file"),
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.tsv,.txt,.jsonl,.ndjson,.json"}),
    )

    def __init__(self, *args: Any, user: User, **options: Any) -> None:
        super().__init__(*args, **options)
        self._user = user
        words = _("UTF-8, or the Unicode text of spreadsheets;")
        most = _("at most %(size)s.") % {"size": filesizeformat(MOST_BYTES)}
        self.fields["file"].help_text = f"{words} {most}"

    def clean_study(self) -> str:
        """A name to which labels may go."""
        name: str = self.cleaned_data["study"]
        try:
            check_study_name(name, self._user)
        except StudyNameError as error:
            raise forms.ValidationError(str(error)) from error
        return name

    def clean_file(self) -> UploadedFile[Any]:
        """A file that is not too large and begins like a table, as one can tell at once."""
        file: UploadedFile[Any] = self.cleaned_data["file"]
        size = file.size or 0
        if size > MOST_BYTES:
            raise forms.ValidationError(
                _("The file has %(size)s; split it into files of at most %(most)s each.")
                % {"size": filesizeformat(size), "most": filesizeformat(MOST_BYTES)}
            )
        bad = unreadable(file)
        if bad:
            raise forms.ValidationError(
                _("Line %(line)s: %(reason)s.") % {"line": bad.line, "reason": bad.reason}
            )
        return file
