"""Milestones of tasks: their form, and their file in and out."""

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs.catalogue.milestones.definitions import definitions_of
from runs.catalogue.milestones.forms import (
    MilestoneFileForm,
    MilestoneFormSet,
    milestone_forms,
    one_more_row,
)
from runs.catalogue.milestones.pages import (
    edit_context,
    edited_tasks,
    file_of,
    set_context,
    take_file,
)
from runs.catalogue.milestones.services import MilestonesChangedError, Stored, set_milestones
from runs.interface.fragments import AppRequest
from runs.models import Task, TaskSet

may_view = permission_required("runs.view_task", raise_exception=True)
may_change = permission_required("runs.change_task", raise_exception=True)


@require_http_methods(["GET", "HEAD", "POST"])
@may_change
def task_milestones(request: AppRequest, task_id: int) -> HttpResponse:
    """The form of a task's milestones; POST saves them, or adds a row."""
    task = get_object_or_404(edited_tasks(request.user), pk=task_id)
    adds = "add" in request.POST
    data = one_more_row(request.POST) if adds else request.POST
    rows = milestone_forms(definitions_of(task), data if request.method == "POST" else None)
    is_refused = request.method == "POST" and not adds
    if is_refused and rows.is_valid() and _save(request, task, rows):
        return redirect("runs:task_detail", task.pk)
    context = edit_context(task, rows) | {"shows_errors": is_refused}
    status = 422 if is_refused else 200
    return render(request, "runs/catalogue/milestones.html", context, status=status)


@require_POST
@may_change
def task_milestones_import(request: AppRequest, task_id: int) -> HttpResponse:
    """Replace a task's milestones by what a file says of it."""
    tasks = edited_tasks(request.user).filter(pk=task_id)
    task = get_object_or_404(tasks)
    form = MilestoneFileForm(request.POST, request.FILES)
    stored = take_file(form=form, tasks=tasks, user=request.user, task_set=task.task_set, only=task)
    if stored is not None:
        _tell(request, stored)
        return redirect("runs:task_detail", task.pk)
    context = edit_context(task, milestone_forms(definitions_of(task)), form)
    return render(request, "runs/catalogue/milestones.html", context, status=422)


@require_safe
@may_view
def task_milestones_file(request: AppRequest, task_id: int) -> HttpResponse:
    """A task's milestones as a file."""
    tasks = edited_tasks(request.user).filter(pk=task_id)
    task = get_object_or_404(tasks)
    return _download(file_of(task.task_set, tasks), f"{task.task_set} {task.external_id}")


@require_http_methods(["GET", "HEAD", "POST"])
@may_change
def set_milestones_page(request: AppRequest, set_id: int) -> HttpResponse:
    """The milestones of a whole task set: how many there are, and a file in and out."""
    task_set = get_object_or_404(TaskSet, pk=set_id)
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    form = MilestoneFileForm(*sent)
    if sent:
        tasks = edited_tasks(request.user).filter(task_set=task_set)
        stored = take_file(form=form, tasks=tasks, user=request.user, task_set=task_set)
        if stored is not None:
            _tell(request, stored)
            return redirect("runs:set_milestones", task_set.pk)
    context = set_context(task_set, request.user, form)
    return render(
        request, "runs/catalogue/set_milestones.html", context, status=422 if sent else 200
    )


@require_safe
@may_view
def set_milestones_file(request: AppRequest, set_id: int) -> HttpResponse:
    """The milestones of a whole task set as a file, without tasks that the person still judges."""
    task_set = get_object_or_404(TaskSet, pk=set_id)
    return _download(
        file_of(task_set, edited_tasks(request.user).filter(task_set=task_set)), str(task_set)
    )


def _save(request: AppRequest, task: Task, rows: MilestoneFormSet) -> bool:
    """Whether the rows were stored; otherwise a message says why not."""
    try:
        changed = set_milestones(
            task=task,
            milestones=rows.definitions(),
            user=request.user,
            expected=request.POST.get("expected", ""),
        )
    except MilestonesChangedError:
        messages.error(
            request,
            _(
                "Somebody else has changed these milestones meanwhile. What you wrote stands below;"
                " save it again to replace theirs."
            ),
        )
        return False
    messages.success(request, _("Milestones saved.") if changed else _("Nothing has changed."))
    return True


def _tell(request: AppRequest, stored: Stored) -> None:
    messages.success(
        request,
        _("Tasks with other milestones now: %(changed)s. With the same: %(same)s.")
        % {"changed": stored.changed, "same": stored.same},
    )


def _download(text: str, name: str) -> HttpResponse:
    response = HttpResponse(text, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="milestones-{slugify(name)}.json"'
    return response
