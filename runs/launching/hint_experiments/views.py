"""The launch page of experiments with hints, and what one will take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from runs.catalogue.tasks.offered import PlanError
from runs.interface.fragments import AppRequest, redirect_whole, wants_partial
from runs.knowledge.hints.views import may_view
from runs.launching.experiments.estimates import Estimate, estimate
from runs.launching.experiments.forms import first_problem
from runs.launching.experiments.services import plan_problem
from runs.launching.hint_experiments.forms import HintExperimentForm
from runs.launching.hint_experiments.plans import HintPlan, launch_hint_experiment
from runs.launching.reruns.views import may_rerun
from runs.models import HintLevel, HintRelatedness, User
from runs.models.hooks import LinkedPage, address_above
from webagent.knowledge.entries import Level, Relatedness
from webagent.llm.tokens import count_tokens

MOST_SHOWN = 8
"""Sources of one relatedness that are shown as an example."""


@dataclass(frozen=True)
class SourceShown:
    """A task and the source of its hint."""

    task: str
    source: str
    score: float
    n_tied: int


@dataclass(frozen=True)
class RelatednessShown:
    """One relatedness: the first tasks with their sources, and the tasks without one."""

    words: str
    is_upper_bound: bool
    sources: list[SourceShown]
    n_more: int
    missing: list[str]


@dataclass(frozen=True)
class HintEstimate:
    """`usual` is what the same number of runs without hints takes; `tokens` what hints add."""

    usual: Estimate
    n_runs: int
    tokens: dict[str, float]
    """By level in words: tokens of a hint on the average, at every step."""
    relatednesses: list[RelatednessShown]


def hint_estimate(plan: HintPlan, user: User) -> HintEstimate:
    """Told from what runs of the agent without hints took."""
    arms = len(plan.conditions) + 1
    as_many = replace(plan.plan, agents=(plan.base,), trials=plan.plan.trials * arms)
    return HintEstimate(
        usual=estimate(as_many, user),
        n_runs=plan.n_runs,
        tokens=_tokens(plan),
        relatednesses=[_shown(plan, each) for each in plan.found.sources],
    )


def _tokens(plan: HintPlan) -> dict[str, float]:
    counted: dict[Level, list[int]] = {}
    for picked in plan.conditions:
        level = counted.setdefault(picked.condition.level, [])
        level += [count_tokens(choice.hint.text) for choice in picked.choices]
    return {str(HintLevel(level).label): sum(n) / len(n) for level, n in counted.items() if n}


def _shown(plan: HintPlan, relatedness: Relatedness) -> RelatednessShown:
    found = plan.found
    pairs = list(zip(found.tasks, found.sources[relatedness], strict=True))
    return RelatednessShown(
        words=str(HintRelatedness(relatedness).label),
        is_upper_bound=relatedness is Relatedness.SAME_TASK,
        sources=[
            SourceShown(task.external_id, source.external_id, chosen.score, chosen.n_tied)
            for task, (source, chosen) in pairs[:MOST_SHOWN]
        ],
        n_more=max(0, len(pairs) - MOST_SHOWN),
        missing=[task.external_id for task in found.missing[relatedness]],
    )


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@may_rerun
@may_view
def hint_experiment_new(request: AppRequest) -> HttpResponse:
    """The form; sent with `estimate` it tells what it takes, with `launch` it launches."""
    if "estimate" in request.POST:
        return _estimated(request)
    is_sent = "launch" in request.POST and "refresh" not in request.POST
    given = request.POST if request.method == "POST" else None
    initial = {name: request.GET[name] for name in ("task_set", "job") if name in request.GET}
    form = HintExperimentForm(given, user=request.user, initial=initial)
    if is_sent and form.is_valid() and (response := _launched(request, form)):
        return response
    if given and not is_sent:
        form.errors.clear()  # only another task set was chosen
    name = "_experiment_form" if wants_partial(request) else "hint_experiment_new"
    context = {"form": form, "action": request.path}
    return render(request, f"runs/launching/{name}.html", context, status=422 if is_sent else 200)


def _estimated(request: AppRequest) -> HttpResponse:
    form = HintExperimentForm(request.POST, user=request.user)
    form.full_clean()
    context: dict[str, Any] = {"problem": first_problem(form)}
    if form.hint_plan is not None:
        context = {
            "problem": plan_problem(form.hint_plan.plan),
            "plan": form.hint_plan,
            "estimate": hint_estimate(form.hint_plan, request.user),
        }
    return render(request, "runs/launching/_hint_estimate.html", context)


def _launched(request: AppRequest, form: HintExperimentForm) -> HttpResponse | None:
    assert form.hint_plan is not None  # noqa: S101 (mypy; a valid form has one)
    try:
        launched = launch_hint_experiment(
            plan=form.hint_plan, token=form.cleaned_data["token"], user=request.user
        )
    except PlanError as error:
        form.refuse(error)
        return None
    n = form.hint_plan.n_runs
    words = ngettext("%(n)d run is queued.", "%(n)d runs are queued.", n) % {"n": n}
    messages.success(request, words)
    address = address_above(LinkedPage.HINT_REPORT, launched.experiment.pk)
    return redirect_whole(request, address)
