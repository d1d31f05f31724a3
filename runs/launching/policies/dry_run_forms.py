"""The form that asks a policy which of some runs it would run again."""

from __future__ import annotations

import uuid
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from runs.launching.policies.judged import judgements
from runs.launching.policies.rerun_plans import MOST_RUNS
from runs.models import Experiment, RetryPolicy, Run, User
from runs.models.parsing import ids_of
from runs.models.policy_documents import body_of

SELECTED = "selected"
STUDY, EXPERIMENT = "study", "experiment"
MOST_OFFERED = 300
"""Studies, and experiments, in the menu: the newest, and the one that the address names."""


class DryRunForm(forms.Form):
    """A policy and the runs it is asked about: of a study, of an experiment, or named by `run`."""

    policy = forms.ChoiceField(label=gettext_lazy("Policy"))
    source = forms.ChoiceField(label=gettext_lazy("Runs"))
    token = forms.UUIDField(widget=forms.HiddenInput, required=False)

    def __init__(self, data: Any, *, user: User) -> None:
        named = ids_of(data.getlist("run"))[:MOST_RUNS]
        self.selected: list[UUID] = named
        data = data.copy()
        if named and "source" not in data:
            data["source"] = SELECTED
        with_rules = [row for row in RetryPolicy.objects.latest_versions() if body_of(row).reruns]
        # An older version can be named in the address.
        asked = policy_numbered(data.get("policy", ""))
        if asked is not None and asked not in with_rules:
            with_rules.append(asked)
        if "policy" not in data and named and with_rules:
            data["policy"] = str(with_rules[0].pk)
        data.setdefault("token", str(uuid.uuid4()))
        super().__init__(data if {"policy", "source"} <= set(data) else None)
        self.initial = {"policy": data.get("policy"), "source": data.get("source")}
        self._user = user
        self._policies = {str(row.pk): row for row in with_rules}
        self._choose("policy", [(pk, str(row)) for pk, row in self._policies.items()])
        self._choose("source", self._sources(data.get("source", "")))

    @property
    def asked(self) -> RetryPolicy:
        """What was chosen; the form must be valid."""
        return self._policies[self.cleaned_data["policy"]]

    @property
    def runs(self) -> QuerySet[Run]:
        """The runs that are meant; the form must be valid."""
        runs: QuerySet[Run] = self.cleaned_data["runs"]
        return runs

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if "source" not in cleaned:
            return cleaned
        kind, _colon, key = cleaned["source"].partition(":")
        runs: QuerySet[Run] | None
        if kind == SELECTED:
            runs = Run.objects.filter(pk__in=self.selected)
        elif kind == STUDY:
            runs = judgements().runs_of_study(int(key), self._user)
        else:
            runs = Run.objects.filter(experiment=int(key))
        if runs is None:
            raise forms.ValidationError(_("There is no such study for you."))
        # A rerun by a rule is looked at through the run that it came from.
        cleaned["runs"] = runs.filter(superseded=False)
        return cleaned

    def _sources(self, asked: str) -> list[tuple[str, Any]]:
        studies = judgements().studies(self._user)
        experiments = Experiment.objects.visible_to(self._user).order_by("-created_at", "-pk")
        grouped: list[tuple[str, Any]] = [
            (_("Studies"), _offered(STUDY, studies, asked)),
            (_("Experiments"), _offered(EXPERIMENT, experiments, asked)),
        ]
        if self.selected:
            return [(SELECTED, _("the selected runs")), *grouped]
        return grouped

    def _choose(self, name: str, choices: list[tuple[str, Any]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 (mypy)
        field.choices = choices


def _offered(kind: str, rows: QuerySet[Any], asked: str) -> list[tuple[str, str]]:
    """The newest of the rows, and the one that is asked for however old it is."""
    pairs = rows.values_list("pk", "name")
    offered = list(pairs[:MOST_OFFERED])
    named, _colon, key = asked.partition(":")
    if named == kind and key.isdecimal() and len(key) < 18:
        offered += [pair for pair in pairs.filter(pk=int(key)) if pair not in offered]
    return [(f"{kind}:{pk}", name) for pk, name in offered]


def policy_numbered(words: str) -> RetryPolicy | None:
    """The version of this id; None if that is no id of one."""
    is_id = words.isdecimal() and len(words) < 18
    return RetryPolicy.objects.filter(pk=int(words)).first() if is_id else None
