"""The form that takes a file with runs, and the one that decides over a file looked at."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from runs.interface.listing import labelled
from webagent.trajectory.reading import AUTO, format_names

FORMAT_WORDS = {
    AUTO: _("Detect automatically"),
    "native": _("native"),
    "agentlab": "AgentLab, BrowserGym",
    "agentrewardbench": "AgentRewardBench",
    "browser_use": "browser-use",
    "online_mind2web": "Online-Mind2Web",
    "webarena": "WebArena",
    "webarena_verified": "WebArena-Verified",
    "playwright_trace": "Playwright",
    "atif": "ATIF",
    "inspect_ai": "Inspect AI",
    "computer_use": "computer use",
    "webvoyager": "WebVoyager",
    "wonderbread": "WonderBread",
}


def _formats() -> list[tuple[str, Any]]:
    return [(name, FORMAT_WORDS.get(name, name)) for name in format_names()]


class ImportForm(forms.Form):
    """A file, what is in it, and where its runs go."""

    file = forms.FileField(
        label=_("Zip, JSON or log file"),
        widget=forms.ClearableFileInput(attrs={"accept": ".zip,.json,.jsonl,.eval,.har"}),
    )
    format = forms.ChoiceField(label=_("Format"), choices=_formats, initial=AUTO)
    experiment_name = forms.CharField(
        label=_("experiment"),
        required=False,
        max_length=200,
        help_text=_("Leave empty to use the name in the file."),
    )

    keeps_file = forms.BooleanField(label=_("Keep the file"), required=False, initial=True)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        words = _("Zip the whole folder, pictures included.")
        most = _("At most %(size)s.") % {
            "size": filesizeformat(settings.ENV.IMPORT_MAX_UPLOAD_BYTES)
        }
        self.fields["file"].help_text = f"{words} {most}"
        days = settings.ENV.UPLOAD_KEEP_DAYS
        if not days:
            del self.fields["keeps_file"]
            return
        self.fields["keeps_file"].help_text = _(
            "For %(days)s days, to read it again with better importers. Nobody can open "
            "it; secrets in it are kept too."
        ) % {"days": f"{days:g}"}


class AnswerForm(forms.Form):
    """What a first look asks, each with the choices that its question names."""

    def __init__(self, questions: Sequence[Mapping[str, Any]], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for question in map(in_own_words, questions):
            none = ("", labelled(_("not set"), question["unanswered"]))
            self.fields[question["key"]] = forms.ChoiceField(
                label=question["text"], choices=[none, *question["choices"].items()], required=False
            )

    @property
    def answers(self) -> dict[str, str]:
        """Key -> choice, of the questions that were answered."""
        return {key: choice for key, choice in self.cleaned_data.items() if choice}


KNOWN = (
    gettext_noop("What do the human labels 0, 1 and 2 mean?"),
    gettext_noop("0 failure, 1 success, 2 not executable (the benchmark's own rule)"),
    gettext_noop("0 not executable, 1 success, 2 failure"),
    gettext_noop("labels 0 and 2 are left out"),
    gettext_noop("What becomes of labels and verdicts whose trajectories are not in the file?"),
    gettext_noop("kept, as runs without trajectory"),
    gettext_noop("left out"),
)
"""The words of every question, for the catalogue of translations."""


def in_own_words(question: Mapping[str, Any]) -> dict[str, Any]:
    """A question of a survey, translated as far as its words are known."""
    return {
        "key": question["key"],
        "text": gettext(question["text"]),
        "choices": {key: gettext(words) for key, words in question["choices"].items()},
        "unanswered": gettext(question["unanswered"]),
    }
