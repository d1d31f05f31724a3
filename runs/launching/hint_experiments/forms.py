"""The form that plans an experiment with hints."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from runs.catalogue.tasks.offered import PlanError
from runs.interface.words import verdict_words
from runs.knowledge.hints.pages import jobs_with_hints
from runs.launching.experiments.agents import hint_agent_choices
from runs.launching.experiments.forms import ExperimentForm
from runs.launching.hint_experiments.plans import HintPlan, HintPool, plan_hints
from runs.models import Hint, HintLevel, HintRelatedness, LearningJob, User
from webagent.knowledge.entries import Level, Relatedness

TRIALS = 3
"""Of every task in every condition, unless somebody says otherwise."""


class HintExperimentForm(ExperimentForm):
    """Tasks, one agent, the hints, and which of them are compared."""

    job = forms.ChoiceField(
        label=_("Hints"), help_text=_("Conditions use the sources and levels of these hints.")
    )
    levels = forms.MultipleChoiceField(
        label=_("Levels"),
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
        label=_("Agent"), required=False, widget=forms.RadioSelect
    )
    more_agents = forms.CharField(
        label=_("Or another configuration"),
        required=False,
        max_length=100_000,
        widget=forms.TextInput(attrs={"class": "mono"}),
        help_text=_('Kind, colon, JSON. generic:{"model": "own-model"}'),
    )

    def __init__(self, *args: Any, user: User, **options: Any) -> None:
        options["initial"] = {"trials": TRIALS} | (options.get("initial") or {})
        super().__init__(*args, user=user, **options)
        self._jobs = {str(job.pk): job for job in jobs_with_hints(user)}
        self._offer("job", [(pk, job_words(job)) for pk, job in self._jobs.items()])
        self._offer("agents", hint_agent_choices(user))

    hint_plan: HintPlan | None = None
    """What was asked for; None while the form does not say it."""

    def clean(self) -> dict[str, Any]:
        chosen = self.cleaned_data.get("agents")
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


def job_words(job: LearningJob) -> str:
    """When hints were written, by whom, and from how many runs."""
    return str(
        _("%(when)s, %(model)s, from %(n)d runs, success by %(verdict)s")
        % {
            "when": f"{job.created_at:%Y-%m-%d %H:%M}",
            "model": job.model,
            "n": len(job.params.get("runs", ())),
            "verdict": verdict_words(job.params.get("verdict_name", "")),
        }
    )
