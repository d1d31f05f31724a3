"""Experiments with hints: their form, their launch page, and what one will take."""

import re
from dataclasses import replace
from typing import Any

from django import forms
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from runs.interface.requests import AppRequest
from runs.interface.sentences import worded
from runs.knowledge.hints.pages import jobs_with_hints, may_view
from runs.launching.experiments.estimates import estimate
from runs.launching.experiments.forms import ExperimentForm
from runs.launching.experiments.hint_plans import (
    HintPlan,
    HintPool,
    launch_hint_experiment,
    plan_hints,
)
from runs.launching.experiments.plans import hint_agent_choices
from runs.launching.experiments.selection import PlanError
from runs.launching.experiments.services import late_responses, plan_problem
from runs.launching.experiments.views import launch_page
from runs.launching.form_fields import offer
from runs.launching.reruns.views import may_rerun
from runs.models import Experiment, Hint, HintLevel, HintRelatedness, LearningJob, User
from runs.models.hooks import LinkedPage
from webagent.knowledge.entries import Level, Relatedness
from webagent.llm.budget import count_tokens

MOST_SHOWN = 8
"""Sources of one relatedness that are shown as an example."""


def _tokens(plan: HintPlan) -> dict[str, float]:
    """By level in words: tokens of a hint on the average, at every step."""
    counted: dict[Level, list[int]] = {}
    for picked in plan.conditions:
        level = counted.setdefault(picked.condition.level, [])
        level += [count_tokens(choice.hint.text) for choice in picked.choices]
    return {str(HintLevel(level).label): sum(n) / len(n) for level, n in counted.items() if n}


def _shown(plan: HintPlan, relatedness: Relatedness) -> dict[str, Any]:
    """The first tasks of one relatedness with their sources, and the tasks without one."""
    pairs = list(zip(plan.found.tasks, plan.found.sources[relatedness], strict=True))
    return {
        "words": HintRelatedness(relatedness).label,
        "is_upper_bound": relatedness is Relatedness.SAME_TASK,
        "ties": plan.found.ties(relatedness),
        "sources": [(task, *source) for task, source in pairs[:MOST_SHOWN]],
        "n_more": max(0, len(pairs) - MOST_SHOWN),
        "missing": [task.external_id for task in plan.found.missing[relatedness]],
    }


TRIALS = 3
"""Of every task in every condition, unless somebody says otherwise."""


class HintExperimentForm(ExperimentForm):
    """Tasks, one agent, the hints, and which of them are compared."""

    page = "hint_experiment"
    landing = LinkedPage.HINT_REPORT

    job = forms.ChoiceField(label=_("hints"))
    levels = forms.MultipleChoiceField(
        label=_("level"),
        choices=HintLevel.choices,
        initial=HintLevel.values,
        widget=forms.CheckboxSelectMultiple,
    )
    relatednesses = forms.MultipleChoiceField(
        label=_("Sources by relatedness"),
        choices=HintRelatedness.choices,
        initial=HintRelatedness.values,
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "The same task tells the solution: an upper bound. BM25 compares the tasks' goals."
        ),
    )
    agents = forms.ChoiceField(  # type: ignore[assignment]  # one instead of several
        label=_("agent"), required=False, widget=forms.RadioSelect
    )
    more_agents = forms.CharField(
        label=_("Further configurations"),
        required=False,
        max_length=100_000,
        widget=forms.TextInput(attrs={"class": "mono"}),
        help_text=_('One per line: kind, colon, JSON. generic:{"model": "own-model"}'),
    )

    def __init__(self, *args: Any, user: User, **options: Any) -> None:
        options["initial"] = {"trials": TRIALS} | (options.get("initial") or {})
        super().__init__(*args, user=user, **options)
        self._jobs = {str(job.pk): job for job in jobs_with_hints(user)}
        offer(self, "job", [(pk, job_words(job)) for pk, job in self._jobs.items()])
        offer(self, "agents", hint_agent_choices(user))
        # One agent is compared with itself: its limits are no arms.
        self.fields["max_steps"].help_text = ""
        self.fields["budgets"].help_text = _(
            "For agents with web knowledge; none gives all entries. Leave empty to use the "
            "configured budget."
        )

    hint_plan: HintPlan | None = None
    """What was asked for; None while the form does not say it."""

    def clean(self) -> dict[str, Any]:
        for name in ("max_steps", "budgets"):
            if len(re.split(r"[\s,;]+", str(self.cleaned_data.get(name) or "").strip())) > 1:
                self.add_error(name, _("Choose one."))
        chosen = self.cleaned_data.get("agents")
        if not chosen and not (self.cleaned_data.get("more_agents") or "").strip():
            self.add_error("agents", _("Choose one."))
        self.cleaned_data["agents"] = [chosen] if chosen else []
        cleaned = super().clean()
        if self.plan is not None and not self.errors.keys() - {"name"}:
            try:
                self.hint_plan = self._hint_plan(cleaned)
            except PlanError as error:
                self.add_error(None, str(error))
        return cleaned

    def _hint_plan(self, asked: dict[str, Any]) -> HintPlan:
        assert self.plan is not None  # noqa: S101 (mypy; asked by clean)
        job = self._jobs[asked["job"]]
        hints = Hint.objects.visible_to(self._user).for_list().filter(job=job)
        pool = HintPool(job, list(hints), [Level(each) for each in asked["levels"]])
        relatednesses = [Relatedness(each) for each in asked["relatednesses"]]
        return plan_hints(self.plan, pool, relatednesses)

    def estimated(self) -> dict[str, Any]:
        """The usual estimate is that of as many runs without hints."""
        plan = self.hint_plan
        if plan is None:
            return {}
        arms = len(plan.conditions) + 1
        as_many = replace(plan.plan, agents=(plan.base,), trials=plan.plan.trials * arms)
        return {
            "problems": [*filter(None, [plan_problem(plan.plan)])],
            "plan": plan,
            "usual": estimate(as_many, self._user),
            "late": late_responses(as_many),
            "tokens": _tokens(plan),
            "relatednesses": [_shown(plan, each) for each in plan.found.sources],
        }

    def launch(self) -> tuple[Experiment, int]:
        assert self.hint_plan is not None  # noqa: S101 (mypy; a valid form has one)
        token = self.cleaned_data["token"]
        launched = launch_hint_experiment(plan=self.hint_plan, token=token, user=self._user)
        return launched.experiment, self.hint_plan.n_runs


def job_words(job: LearningJob) -> str:
    """When hints were written, by whom, and from how many runs."""
    return str(
        _("%(when)s, %(model)s, from %(n)d runs, success by %(verdict)s")
        % {
            "when": f"{job.created_at:%Y-%m-%d %H:%M}",
            "model": job.model,
            "n": len(job.params.get("runs", ())),
            "verdict": worded(job.params.get("verdict_name", "")),
        }
    )


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@may_rerun
@may_view
def hint_experiment_new(request: AppRequest) -> HttpResponse:
    """The launch page, with the task set or the hints that the address names."""
    initial = {name: request.GET[name] for name in ("task_set", "job") if name in request.GET}
    return launch_page(request, HintExperimentForm, initial)
