"""Milestones that a model proposes, on a task's page: ask, watch, accept, reject."""

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from judging.analysis.milestone_proposals.pages import ProposalsPage, proposals_page
from judging.analysis.milestone_proposals.services import (
    ProposalRefusedError,
    accept_proposals,
    reject_proposals,
    start_proposals,
)
from runs.catalogue.milestones.views import edited_tasks
from runs.interface.fragments import AppRequest
from runs.knowledge.learning import cancel_learning
from runs.models import Task, User
from runs.queue.paid_work import WorkRefusedError

PERMISSIONS = ["runs.change_task", "judging.view_audit", "judging.add_evaluation"]
"""Proposals rest on which runs succeeded, cost money, and become milestones."""

may_propose = permission_required(PERMISSIONS, raise_exception=True)


@require_safe
@vary_on_headers("HX-Request")
@may_propose
def milestone_proposals(request: AppRequest, task_id: int) -> HttpResponse:
    """The newest proposals, or how they come along; by itself, or on a page of its own."""
    return _shown(request, proposals_page(_task(request, task_id)))


@require_POST
@may_propose
def milestone_proposals_start(request: AppRequest, task_id: int) -> HttpResponse:
    """Have a model asked."""
    page = proposals_page(_task(request, task_id))
    if page.job and page.job.is_active:
        messages.info(request, _("A model is already being asked."))
    else:
        try:
            model = request.POST.get("model", "")
            start_proposals(task=page.task, run_ids=page.runs, model=model, user=request.user)
        except WorkRefusedError as error:
            messages.error(request, str(error))
    return redirect("judging:milestone_proposals", task_id)


@require_POST
@may_propose
def milestone_proposals_cancel(request: AppRequest, task_id: int) -> HttpResponse:
    """Ask the question under way to stop."""
    page = proposals_page(_task(request, task_id))
    if page.job:
        cancel_learning(job=page.job)
    return redirect("judging:milestone_proposals", task_id)


@require_POST
@may_propose
def milestone_proposals_decide(request: AppRequest, task_id: int) -> HttpResponse:
    """Accept or reject the proposals that are chosen."""
    page = proposals_page(_task(request, task_id), request.POST)
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
        raise ProposalRefusedError(_("Choose at least one proposal."))
    if not accepts:
        reject_proposals(item=page.item, numbers=list(chosen))
    elif all(form.is_valid() for form in chosen.values()):
        worded = {number: form.definition() for number, form in chosen.items()}
        accept_proposals(item=page.item, task=page.task, chosen=worded, user=user)
    else:
        raise ProposalRefusedError(_("Correct the marked fields, then add again."))


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
