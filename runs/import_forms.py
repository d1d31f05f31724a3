"""The form that takes a file with runs."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext_lazy as _

from webagent.trajectory.reading import AUTO, format_names

FORMAT_WORDS = {
    AUTO: _("recognise it"),
    "native": _("native"),
    "agentlab": _("AgentLab or BrowserGym result folders"),
}


def _formats() -> list[tuple[str, Any]]:
    return [(name, FORMAT_WORDS.get(name, name)) for name in format_names()]


class ImportForm(forms.Form):
    """A zip, what is in it, and where its runs go."""

    file = forms.FileField(
        label=_("Zip file"), widget=forms.ClearableFileInput(attrs={"accept": ".zip"})
    )
    format = forms.ChoiceField(label=_("Format"), choices=_formats, initial=AUTO)
    experiment_name = forms.CharField(
        label=_("Experiment"),
        required=False,
        max_length=200,
        help_text=_("Empty: as the file says."),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        words = _("Result folders of AgentLab or BrowserGym, or runs in the native format;")
        most = _("at most %(size)s.") % {
            "size": filesizeformat(settings.ENV.IMPORT_MAX_UPLOAD_BYTES)
        }
        self.fields["file"].help_text = f"{words} {most}"
