"""Forms of web knowledge: what to learn from, with which model, and an entry's words."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from runs.catalogue.language_models import ModelOffer
from runs.models import Experiment, Run, TaskSet, User
from runs.queue.paid_work_services import CostLimitField
from webagent.knowledge.entries import LONGEST_TEXT, Entry

SELECTION = "selection"
MOST_OFFERED = 200
"""Experiments in the menu, the newest."""


class LearnForm(forms.Form):
    """Which model is asked, and what that may cost."""

    model = forms.ChoiceField(label=_("model"))
    max_cost = CostLimitField(
        help_text=_("Leave empty for no limit. At the limit, work stops and can be resumed.")
    )

    def __init__(self, *args: Any, models: Sequence[ModelOffer], **options: Any) -> None:
        super().__init__(*args, **options)
        usable = [offer.name for offer in models]
        field = self.fields["model"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 (mypy)
        field.choices = [(name, name) for name in usable]
        if settings.ENV.JUDGE_MODEL in usable:
            field.initial = settings.ENV.JUDGE_MODEL
        self.has_model = bool(usable)


class ExtractForm(LearnForm):
    """Runs to learn from, as far as the person may know all of them."""

    field_order = ("name", "source", "then_summarise", "model", "max_cost")

    name = forms.CharField(
        label=_("name"),
        max_length=200,
        help_text=_("Each site gets a set of this name, or a new version of it."),
    )
    source = forms.ChoiceField(label=_("Runs of"))
    then_summarise = forms.BooleanField(
        label=_("Then summarise"),
        required=False,
        initial=True,
        help_text=_("Summaries help agents; raw entries alone can hurt."),
    )

    def __init__(self, *args: Any, user: User, run_ids: Sequence[UUID], **options: Any) -> None:
        super().__init__(*args, **options)
        self._user = user
        self._run_ids = list(run_ids)
        field = self.fields["source"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 (mypy)
        field.choices = self._sources()

    def runs(self) -> list[UUID]:
        """The runs that are meant; the form's source must be valid."""
        kind, _colon, number = str(self.cleaned_data["source"]).partition(":")
        runs = self._open_runs()
        if kind == SELECTION:
            runs = runs.filter(pk__in=self._run_ids)
        elif kind == "experiment":
            runs = runs.filter(experiment=int(number))
        else:
            runs = runs.filter(task__task_set=int(number))
        return list(runs.order_by("created_at", "pk").values_list("pk", flat=True))

    def _open_runs(self) -> QuerySet[Run]:
        """Whoever judges a run is not to read what a model makes of it."""
        return Run.objects.visible_to(self._user).not_blind().not_anonymous().judgeable()

    def _sources(self) -> list[tuple[Any, Any]]:
        experiments = Experiment.objects.visible_to(self._user).order_by("-created_at")[
            :MOST_OFFERED
        ]
        open_runs = self._open_runs().order_by().filter(task__task_set=OuterRef("pk"))
        sets = TaskSet.objects.filter(Exists(open_runs)).order_by("name", "version")
        chosen = [(SELECTION, _("the selected runs"))] if self._run_ids else []
        return [
            *chosen,
            (
                capfirst(_("experiment")),
                [(f"experiment:{row.pk}", row.name) for row in experiments],
            ),
            (capfirst(_("task set")), [(f"set:{row.pk}", str(row)) for row in sets]),
        ]


class EntryForm(forms.Form):
    """The words of an entry."""

    intent = forms.CharField(label=_("intent"), max_length=LONGEST_TEXT)
    ok = forms.CharField(
        label=_("works"),
        required=False,
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    ng = forms.CharField(
        label=_("does not work"), max_length=LONGEST_TEXT, widget=forms.Textarea(attrs={"rows": 3})
    )

    def words(self) -> Entry:
        """What was written; the form must be valid."""
        asked = self.cleaned_data
        return Entry(intent=asked["intent"], ok=asked["ok"], ng=asked["ng"])
