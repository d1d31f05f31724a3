"""Milestones that a model proposes, on a task's page: ask, watch, accept, reject."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import Case, Exists, OuterRef, Value, When
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from judging.analysis.milestone_proposals.services import (
    ACCEPTED,
    REJECTED,
    ProposalParams,
    ProposalRefusedError,
    ProposalsMade,
    accept_proposals,
    reject_proposals,
    request_for,
)
from judging.evaluators.judges.asking import tokens_of
from judging.evaluators.judges.milestones import ProposalSettings
from judging.models import ReferenceVerdict
from runs.catalogue.language_models import usable_models
from runs.catalogue.milestones.views import edited_tasks
from runs.interface.requests import AppRequest, needs
from runs.knowledge.learning import cancel_learning, start_learning
from runs.models import LearningJob, Run, Task, User
from runs.queue.paid_work import WorkRefusedError
from webagent.llm.budget import price_of
from webagent.milestones.findings import MAX_NAME, MAX_WEIGHT, Definition


class ProposalForm(forms.Form):
    """One proposal, to be worded otherwise, accepted or rejected."""

    chosen = forms.BooleanField(label=gettext_lazy("Select"), required=False)
    name = forms.CharField(label=gettext_lazy("milestone"), max_length=MAX_NAME)
    weight = forms.FloatField(label=gettext_lazy("weight"), min_value=0.001, max_value=MAX_WEIGHT)
    is_ordered = forms.BooleanField(label=gettext_lazy("in order"), required=False)

    @property
    def is_ticked(self) -> bool:
        """Whether it was sent with its box ticked, valid or not."""
        return self.is_bound and self.add_prefix("chosen") in self.data

    def definition(self) -> Definition:
        """The milestone as the person has worded it. Call it when valid."""
        given = self.cleaned_data
        return Definition(
            name=given["name"], weight=given["weight"], is_ordered=given["is_ordered"]
        )


class Open(NamedTuple):
    """A proposal that nobody has decided about yet."""

    number: int
    rationale: str
    form: ProposalForm


class Offer(NamedTuple):
    """A model that can be asked, and what that is expected to cost; None where unknown."""

    name: str
    cost: Decimal | None


class ProposalsPage:
    """The newest question about a task, and what a new one would take.

    Args:
        sent: the form's fields, to show them again with what is wrong.
    """

    def __init__(self, task: Task, sent: Any = None) -> None:
        jobs = LearningJob.objects.filter(kind=LearningJob.Kind.MILESTONES, params__task=task.pk)
        job = jobs.order_by("-created_at").first()
        item = job.items.first() if job else None
        self.task, self.job, self.item = task, job, item
        self.made = ProposalsMade.model_validate(item.result if item else {})
        self.problem = (job.problem if job else "") or (item.problem if item else "")
        self.open = _open(self.made, sent)
        self.runs = successful_runs(task)
        self.offers, self.missing = _offers(task, self.runs)

    @property
    def chosen(self) -> dict[int, ProposalForm]:
        """The forms that are ticked in what was sent, by number."""
        return {each.number: each.form for each in self.open if each.form.is_ticked}

    @property
    def accepted(self) -> int:
        return list(self.made.decisions.values()).count(ACCEPTED)

    @property
    def rejected(self) -> int:
        return list(self.made.decisions.values()).count(REJECTED)


def successful_runs(task: Task) -> list[UUID]:
    """Runs of the task that succeeded by people, or else by its benchmark; short ones first."""
    spoken = ReferenceVerdict.objects.filter(run=OuterRef("pk"), is_authoritative=True)
    succeeded = spoken.filter(verdict=ReferenceVerdict.Verdict.SUCCESS)
    runs = (
        Run.objects.judgeable()
        .filter(task=task, superseded=False)
        .annotate(by=Case(When(Exists(succeeded), then=Value(0)), default=Value(1)))
        .exclude(Exists(spoken.exclude(verdict=ReferenceVerdict.Verdict.SUCCESS)))
        .exclude(by=1, outcome__in=[each for each in Run.Outcome if each != Run.Outcome.SUCCESS])
    )
    most = ProposalSettings(model="any").most_runs
    return list(runs.order_by("by", "n_steps", "pk").values_list("pk", flat=True)[:most])


def _open(made: ProposalsMade, sent: Any) -> list[Open]:
    found = []
    for number, each in enumerate(made.proposals):
        if number not in made.decisions:
            initial = each.model_dump() | {"weight": f"{each.weight:g}"}
            form = ProposalForm(sent, prefix=f"proposal-{number}", initial=initial)
            found.append(Open(number, each.rationale, form))
    return found


def _offers(task: Task, runs: Sequence[UUID]) -> tuple[list[Offer], str]:
    """The models that can be asked, or why none can."""
    usable, missing = usable_models()
    if not usable:
        return [], missing
    tokens = tokens_of([request_for(task, runs, usable[0].name)])
    return [Offer(name=each.name, cost=price_of(*tokens, each.entry)) for each in usable], ""


PERMISSIONS = ["runs.change_task", "judging.view_audit", "judging.add_evaluation"]
"""Proposals rest on which runs succeeded, cost money, and become milestones."""
may_propose = needs(*PERMISSIONS)


@require_safe
@vary_on_headers("HX-Request")
@may_propose
def milestone_proposals(request: AppRequest, task_id: int) -> HttpResponse:
    """The newest proposals, or how they come along; by itself, or on a page of its own."""
    return _shown(request, ProposalsPage(_task(request, task_id)))


@require_POST
@may_propose
def milestone_proposals_start(request: AppRequest, task_id: int) -> HttpResponse:
    page = ProposalsPage(_task(request, task_id))
    if page.job and page.job.is_active:
        messages.info(request, _("A model is already being asked."))
    else:
        try:
            start_learning(
                kind=LearningJob.Kind.MILESTONES,
                model=request.POST.get("model", ""),
                params=ProposalParams(task=page.task.pk, runs=page.runs).model_dump(mode="json"),
                user=request.user,
            )
        except WorkRefusedError as error:
            messages.error(request, str(error))
    return redirect("judging:milestone_proposals", task_id)


@require_POST
@may_propose
def milestone_proposals_cancel(request: AppRequest, task_id: int) -> HttpResponse:
    page = ProposalsPage(_task(request, task_id))
    if page.job:
        cancel_learning(job=page.job)
    return redirect("judging:milestone_proposals", task_id)


@require_POST
@may_propose
def milestone_proposals_decide(request: AppRequest, task_id: int) -> HttpResponse:
    page = ProposalsPage(_task(request, task_id), request.POST)
    n, accepts = len(page.chosen), request.POST.get("do") != "reject"
    try:
        _decide(page, request.user, accepts=accepts)
    except ProposalRefusedError as error:
        messages.error(request, str(error))
        return _shown(request, page, status=422)
    if accepts:
        said = ngettext("%(n)s milestone added.", "%(n)s milestones added.", n) % {"n": n}
    else:
        said = ngettext("%(n)s proposal rejected.", "%(n)s proposals rejected.", n) % {"n": n}
    messages.success(request, said)
    return redirect("runs:task_detail", task_id)


def _decide(page: ProposalsPage, user: User, *, accepts: bool) -> None:
    """Raises ProposalRefusedError where nothing was stored."""
    chosen = page.chosen
    if page.item is None or not chosen:
        raise ProposalRefusedError(_("Choose at least one."))
    if not accepts:
        reject_proposals(item=page.item, numbers=list(chosen))
    elif all(form.is_valid() for form in chosen.values()):
        worded = {number: form.definition() for number, form in chosen.items()}
        accept_proposals(item=page.item, task=page.task, chosen=worded, user=user)
    else:
        raise ProposalRefusedError(_("Correct the marked fields."))


def _task(request: AppRequest, task_id: int) -> Task:
    """A task of which nothing is hidden from the person; 404 for all others."""
    task: Task = get_object_or_404(edited_tasks(request.user), pk=task_id)
    return task


def _shown(request: AppRequest, page: ProposalsPage, status: int = 200) -> HttpResponse:
    return render(
        request,
        "judging/analysis/milestone_proposals/milestone_proposals.html",
        {"page": page, "task": page.task},
        status=status,
    )
