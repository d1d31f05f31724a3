"""What the pages of milestones show, and what becomes of a file that is sent."""

from __future__ import annotations

from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db.models import Count, Q
from django.utils.translation import gettext as _

from runs.catalogue.milestones.definitions import (
    MilestoneFile,
    MilestoneFileError,
    TaskMilestones,
    definitions_of,
    digest_of_task,
    milestone_file,
    read_file,
    written_file,
)
from runs.catalogue.milestones.forms import MilestoneFileForm
from runs.catalogue.milestones.services import Stored, UnknownTasksError, import_milestones
from runs.models import Task, TaskSet, User
from runs.models.task_queries import task_key


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


def set_context(task_set: TaskSet, user: User, form: MilestoneFileForm) -> dict[str, Any]:
    """How many tasks of a set have milestones, and the form that takes a file."""
    counts = (
        edited_tasks(user)
        .filter(task_set=task_set)
        .order_by()
        .aggregate(
            tasks=Count("pk", distinct=True),
            those=Count("pk", distinct=True, filter=_IN_FORCE),
            milestones=Count("milestones", filter=_IN_FORCE),
        )
    )
    return {"task_set": task_set, "form": form, "counts": counts}


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
        form.add_error(
            "file", _("It names tasks that are not here for you: %(tasks)s") % {"tasks": error}
        )
    return None


def _demand_set(file: MilestoneFile, task_set: TaskSet) -> None:
    if file.task_set.name != task_set.name:
        raise MilestoneFileError(
            _("It is of the task set %(theirs)s, and these tasks are of %(ours)s.")
            % {"theirs": file.task_set.name, "ours": task_set.name}
        )


def _part_for(file: MilestoneFile, task: Task) -> MilestoneFile:
    """What the file says of this task, in whatever version of its set."""
    name = task.task_set.name
    key = task_key(name, task.external_id)
    found = [entry for entry in file.tasks if task_key(name, entry.task) == key]
    if not found:
        raise MilestoneFileError(_("It says nothing of task %(id)s.") % {"id": task.external_id})
    entry = TaskMilestones(task=task.external_id, milestones=found[0].milestones)
    return file.model_copy(update={"tasks": (entry,)})
