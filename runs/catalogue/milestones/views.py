"""Milestones of tasks: their form, and their file in and out."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs.catalogue.milestones.definitions import (
    MilestoneFile,
    MilestoneFileError,
    definitions_of,
    digest_of_task,
    milestone_file,
    read_file,
    written_file,
)
from runs.catalogue.milestones.forms import (
    MilestoneFileForm,
    MilestoneFormSet,
    milestone_forms,
    one_more_row,
)
from runs.catalogue.milestones.services import (
    MilestonesChangedError,
    Stored,
    UnknownTasksError,
    import_milestones,
    set_milestones,
)
from runs.interface.requests import AppRequest, needs
from runs.models import Task, TaskSet, User
from runs.models.tasks import task_key


def edited_tasks(user: User) -> Any:
    """Tasks whose milestones the person may see: not those of runs they still judge."""
    shown: Any = Task.objects.visible_to(user)
    return shown.filter(is_sealed=False).select_related("task_set")


def edit_context(task: Task, rows: Any, file_form: MilestoneFileForm | None = None) -> Any:
    """The form of a task's milestones, as it stands."""
    return {
        "task": task,
        "rows": rows,
        "expected": digest_of_task(task),
        "file_form": file_form or MilestoneFileForm(),
        "has_milestones": bool(definitions_of(task)),
        "n_runs": task.runs.filter(superseded=False).count(),
    }


_IN_FORCE = Q(milestones__isnull=False, milestones__removed_at__isnull=True)


def file_of(task_set: TaskSet, tasks: Any) -> str:
    """The file of these tasks' milestones."""
    rows = tasks.prefetch_related("milestones").in_order()
    return written_file(milestone_file(task_set.name, task_set.version, rows))


def take_file(
    *, form: MilestoneFileForm, tasks: Any, user: User, task_set: TaskSet, only: Task | None = None
) -> Stored | None:
    """Import the sent file; None with an error at the form's field where that cannot be.

    Args:
        tasks: those it may write to.
        task_set: whose tasks they are; a file of another version of it will do.
        only: take this task's part alone, whatever else the file holds.
    """
    if not form.is_valid():
        return None
    sent: UploadedFile[Any] = form.cleaned_data["file"]
    try:
        file = read_file(sent.read())
        _demand_set(file, task_set)
        if only is not None:
            file = _part_for(file, only)
        return import_milestones(file=file, tasks=list(tasks), user=user)
    except MilestoneFileError as error:
        form.add_error("file", f"{sent.name}: {error}")
    except UnknownTasksError as error:
        form.add_error("file", _("Unknown tasks, or hidden from you: %(tasks)s") % {"tasks": error})
    return None


def _demand_set(file: MilestoneFile, task_set: TaskSet) -> None:
    if file.task_set.name != task_set.name:
        raise MilestoneFileError(
            _("The file is for the task set %(theirs)s; these tasks are of %(ours)s.")
            % {"theirs": file.task_set.name, "ours": task_set.name}
        )


def _part_for(file: MilestoneFile, task: Task) -> MilestoneFile:
    """What the file says of this task, in whatever version of its set."""
    name = task.task_set.name
    key = task_key(name, task.external_id)
    found = tuple(entry for entry in file.tasks if task_key(name, entry.task) == key)
    if not found:
        raise MilestoneFileError(
            _("The file does not name task %(id)s.") % {"id": task.external_id}
        )
    return file.model_copy(update={"tasks": found[:1]})


may_view = needs("runs.view_task")
may_change = needs("runs.change_task")


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
        _add_messages(request, stored)
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
    tasks = edited_tasks(request.user).filter(task_set=task_set)
    if sent:
        stored = take_file(form=form, tasks=tasks, user=request.user, task_set=task_set)
        if stored is not None:
            _add_messages(request, stored)
            return redirect("runs:set_milestones", task_set.pk)
    counts = tasks.order_by().aggregate(
        tasks=Count("pk", distinct=True),
        those=Count("pk", distinct=True, filter=_IN_FORCE),
        milestones=Count("milestones", filter=_IN_FORCE),
    )
    context = {"task_set": task_set, "form": form, "counts": counts}
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
                "Somebody else changed these milestones. Your version is below; "
                "save it again to replace theirs."
            ),
        )
        return False
    messages.success(request, _("Saved.") if changed else _("No changes."))
    return True


def _add_messages(request: AppRequest, stored: Stored) -> None:
    messages.success(
        request,
        _("Tasks changed: %(changed)s. Unchanged: %(same)s.")
        % {"changed": stored.changed, "same": stored.same},
    )


def _download(text: str, name: str) -> HttpResponse:
    response = HttpResponse(text, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="milestones-{slugify(name)}.json"'
    return response
