"""Which runs a policy would run again: form, rules, estimate, launch."""

import uuid
from collections import Counter
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from runs.interface.requests import AppRequest
from runs.launching.agents import agent_record_for
from runs.launching.experiments.estimates import Estimate, estimate
from runs.launching.experiments.plans import Plan
from runs.launching.form_fields import offer
from runs.launching.policies.rerun_plans import (
    MOST_RUNS,
    PlanOutcome,
    RerunPlan,
    launch_by_policy,
    plan_reruns,
)
from runs.launching.reruns.services import RerunError
from runs.launching.reruns.views import may_rerun
from runs.models import Experiment, RetryPolicy, Run, Task, User
from runs.models.extension import extension
from runs.models.parsing import ids_of
from runs.models.policies import body_of
from webagent.trajectory.records import AgentRecord

SELECTED = "selected"
STUDY, EXPERIMENT = "study", "experiment"
MOST_OFFERED = 300
"""Studies, and experiments, in the menu: the newest, and the one that the address names."""
GONE = gettext_lazy("This no longer exists, or you may not see it.")


class DryRunForm(forms.Form):
    """A policy and the runs it is asked about: of a study, of an experiment, or named by `run`."""

    policy = forms.ChoiceField(
        label=gettext_lazy("Policy"),
        error_messages={"required": gettext_lazy("Choose one."), "invalid_choice": GONE},
    )
    source = forms.ChoiceField(
        label=gettext_lazy("runs"),
        error_messages={"required": gettext_lazy("Choose one."), "invalid_choice": GONE},
    )
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
        if not data.get("token", "").strip():
            data["token"] = str(uuid.uuid4())
        super().__init__(data if {"policy", "source"} <= set(data) else None)
        self.initial = {"policy": data.get("policy"), "source": data.get("source")}
        self._user = user
        self._policies = {str(row.pk): row for row in with_rules}
        self.has_policies = bool(with_rules)
        offer(self, "policy", [(pk, row.label) for pk, row in self._policies.items()])
        sources = self._sources(data.get("source", ""))
        self.has_runs = any(offered for _key, offered in sources)
        offer(self, "source", sources)
        if any(self._is_unknown(name, data.get(name)) for name in self.initial):
            data.setdefault("policy", next(iter(self._policies), ""))
            self.data, self.is_bound = data, True  # to say so

    def _is_unknown(self, name: str, value: str | None) -> bool:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 (mypy)
        return bool(value) and not field.valid_value(value)

    @property
    def asked(self) -> RetryPolicy:
        """What was chosen; the form must be valid."""
        return self._policies[self.cleaned_data["policy"]]

    runs: QuerySet[Run]
    """The runs that are meant; set where the form is valid."""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if "source" not in cleaned:
            return cleaned
        kind, _colon, key = cleaned["source"].partition(":")
        runs: QuerySet[Run] | None
        if kind == SELECTED:
            runs = Run.objects.filter(pk__in=self.selected)
        elif kind == STUDY:
            runs = extension().judgements.runs_of_study(int(key), self._user)
        else:
            runs = Run.objects.filter(experiment=int(key))
        if runs is None:
            raise forms.ValidationError(GONE)
        # A rerun by a rule is looked at through the run that it came from.
        self.runs = runs.filter(superseded=False)
        return cleaned

    def _sources(self, asked: str) -> list[tuple[str, Any]]:
        studies = extension().judgements.studies(self._user)
        experiments = Experiment.objects.visible_to(self._user).order_by("-created_at", "-pk")
        grouped: list[tuple[str, Any]] = [
            (capfirst(_("studies")), _offered(STUDY, studies, asked)),
            (_("Experiments"), _offered(EXPERIMENT, experiments, asked)),
        ]
        if self.selected:
            return [(SELECTED, _("the selected runs")), *grouped]
        return grouped


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


def estimate_reruns(plan: RerunPlan, user: User | None) -> Estimate | None:
    """The estimate over all agents that would run; None if nothing would."""
    tasks: dict[str, tuple[AgentRecord, list[Task]]] = {}
    for row in plan.reruns:
        if row.last is not None and row.rule is not None:
            agent = agent_record_for(row.last, row.rule.agent)
            tasks.setdefault(agent.model_dump_json(), (agent, []))[1].append(row.last.task)
    if not tasks:
        return None
    parts = [
        estimate(Plan(name="", tasks=tuple(its_tasks), agents=(agent,)), user)
        for agent, its_tasks in tasks.values()
    ]
    return Estimate(
        n_runs=sum(part.n_runs for part in parts),
        browsers=parts[0].browsers,
        agents=tuple(agent for part in parts for agent in part.agents),
    )


def dry_run_context(form: DryRunForm, user: User) -> dict[str, Any]:
    """The dry run of a valid form."""
    plan = plan_reruns(form.asked, form.runs, user)
    n_runs = len(plan.rows)
    counts = Counter(row.answer for row in plan.rows)
    limit = plan.body.batch.runs
    return {
        "policy": form.asked,
        "rows": sorted(plan.rows, key=lambda row: row.answer is not PlanOutcome.RERUN),
        "n_runs": n_runs,
        "n_reruns": len(plan.reruns),
        "counts": [(answer.label, n) for answer, n in counts.most_common()],
        "estimate": estimate_reruns(plan, user),
        "most_that_start": limit if limit is not None and limit < len(plan.reruns) else None,
        "is_cut": n_runs == MOST_RUNS,
    }


@require_http_methods(["GET", "HEAD", "POST"])
@may_rerun
def policy_reruns(request: AppRequest) -> HttpResponse:
    """The dry run of a policy over a study, an experiment or selected runs; sent, its launch."""
    data = request.POST if request.method == "POST" else request.GET
    form = DryRunForm(data, user=request.user)
    is_asked = form.is_valid()
    if "launch" in request.POST and is_asked:
        try:
            return _launch(request, form)
        except RerunError as error:
            form.add_error(None, str(error))
    context = dry_run_context(form, request.user) if is_asked else {}
    return render(request, "runs/launching/policy_reruns.html", {"form": form, **context})


def _launch(request: AppRequest, form: DryRunForm) -> HttpResponse:
    launched = launch_by_policy(
        policy=form.asked, runs=form.runs, token=form.cleaned_data["token"], user=request.user
    )
    count = len(launched.runs)
    words = ngettext("%(n)d run is queued.", "%(n)d runs are queued.", count) % {"n": count}
    messages.success(request, words)
    return redirect("runs:rerun_list")
