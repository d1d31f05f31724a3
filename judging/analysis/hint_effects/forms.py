"""Choosing the runs that hints are written from, and who says that they succeeded."""

from __future__ import annotations

from typing import Any, cast

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.sources import Choice, Source, default_source, read_source
from judging.analysis.hint_effects.source_runs import SourceRunQuery
from runs.catalogue.agents.choices import ModelOffer
from runs.models import Experiment, HintLevel, TaskSet, User
from runs.queue.paid_work_services import CostLimitField
from webagent.knowledge.entries import Level

MOST_OFFERED = 300
"""Experiments in the menu."""


class HintWritingForm(forms.Form):
    """Where sources come from, whose verdicts count, and what is written by which model."""

    task_set = forms.ChoiceField(label=_("Task set"), required=False)
    experiment = forms.ModelChoiceField(
        queryset=Experiment.objects.none(),
        label=_("Experiment"),
        required=False,
        empty_label=_("all runs, imported ones and people's too"),
    )
    agent = forms.ChoiceField(label=_("Agent or person"), required=False)
    verdict = forms.ChoiceField(
        label=_("Verdict source"),
        help_text=_("Runs that succeeded by it are sources; of each task the shortest."),
    )
    levels = forms.MultipleChoiceField(
        label=_("Levels"),
        choices=HintLevel.choices,
        initial=HintLevel.values,
        widget=forms.CheckboxSelectMultiple,
    )
    model = forms.ChoiceField(label=_("Language model"))
    max_cost = CostLimitField()

    def __init__(self, *args: Any, user: User, models: list[ModelOffer], **options: Any) -> None:
        super().__init__(*args, **options)
        self._user = user
        experiments = Experiment.objects.visible_to(user).order_by("-created_at", "-pk")
        chosen = cast("forms.ModelChoiceField[Experiment]", self.fields["experiment"])
        chosen.queryset = experiments
        chosen.choices = self._newest(experiments)
        names = TaskSet.objects.order_by("name").values_list("name", flat=True).distinct()
        self._offer("task_set", [("", _("all")), *((name, name) for name in names)])
        agents = SourceRunQuery(user=user).agents()
        self._offer("agent", [("", _("any")), *((name, name) for name in agents)])
        sources = SourceRunQuery(user=user).choices()
        self._offer("verdict", [(each.source.key, _in_words(each)) for each in sources])
        self.fields["verdict"].initial = default_source(sources).key
        self._offer("model", [(offer.name, offer.name) for offer in models if not offer.missing])

    @property
    def source_query(self) -> SourceRunQuery:
        """Which runs may be sources, of a valid form."""
        asked = self.cleaned_data
        return SourceRunQuery(
            user=self._user,
            task_set=asked["task_set"],
            experiment=asked["experiment"],
            agent=asked["agent"],
        )

    @property
    def source(self) -> Source:
        """Who says that they succeeded."""
        return read_source(self.cleaned_data["verdict"])

    @property
    def levels_asked(self) -> list[Level]:
        return [Level(each) for each in self.cleaned_data["levels"]]

    def _newest(self, experiments: QuerySet[Experiment]) -> list[tuple[Any, str]]:
        """The menu: the newest, and the one that is asked for however old it is."""
        offered = list(experiments[:MOST_OFFERED])
        asked = str(self["experiment"].value() or "")
        if asked.isdecimal() and len(asked) < 18:
            offered += [row for row in experiments.filter(pk=int(asked)) if row not in offered]
        nobody = str(self.fields["experiment"].empty_label)  # type: ignore[attr-defined]
        return [("", nobody), *((row.pk, str(row)) for row in offered)]

    def _offer(self, name: str, values: list[Any]) -> None:
        cast("forms.ChoiceField", self.fields[name]).choices = values


def _in_words(choice: Choice) -> str:
    verdicts = f"{choice.verdicts}+" if choice.is_more else choice.verdicts
    return f"{choice.source.name} ({verdicts})"
