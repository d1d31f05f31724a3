"""Tasks and the sets they come in."""

from typing import Annotated, Any

from django.db.models.functions import Left
from ninja import Query, Router
from pydantic import BaseModel, Field

from runs.api.authentication import ApiRequest, Bearer
from runs.api.bodies import GOAL, MOST_OF_GOAL, filled
from runs.api.paging import Page, Paged, Paging, RowId, Words, filtered, known_only, page_of
from runs.api.problems import first_of
from runs.catalogue.tasks.tables import TaskFilter
from runs.models import Scope, Task, TaskSet

router = Router(tags=["tasks"], auth=Bearer(Scope.RUNS_READ, "runs.view_task"))
SEALED = "Null while you judge a run of the task."


class TaskSetOut(BaseModel):
    """A named, versioned collection of tasks."""

    id: int
    name: str
    version: str
    parent: int | None = Field(description="The version that a patch turned into this one.")


class TaskSetPage(Page[TaskSetOut]):
    """Task sets, newest first."""


class TaskOut(BaseModel):
    """A task as the list of tasks tells it."""

    id: int
    task_set: TaskSetOut
    name: str = Field(description="Its id within the set.")
    site: str
    goal: str = Field(description=GOAL)
    template: str
    max_steps: int | None
    evaluation: str | None = Field(description=f"Kinds of its evaluations. {SEALED}")
    infeasible: bool | None = Field(description=SEALED)
    is_sealed: bool = Field(description="Whether you judge a run of it, so that much is hidden.")


class TaskPage(Page[TaskOut]):
    """Tasks, in the order in which they came in."""


class TaskDetail(TaskOut):
    """A task with what it expects."""

    start_urls: Any
    sites: Any
    intent_template: str
    spec: Any = Field(description=f"The benchmark's own evaluation, verbatim. {SEALED}")
    reference: Any = Field(description=SEALED)
    infeasible_reason: str | None = Field(description=SEALED)


class TaskFilters(BaseModel):
    """The filters of the list of tasks; several values of one are alternatives."""

    q: str | None = Field(None, max_length=300, description="Words of the goal, or a whole id.")
    task_set: Words = Field([], description="Ids of task sets.")
    site: Words = []
    kind: Words = Field([], description="Kinds of evaluation.")
    template: Words = []
    patched: Words = []
    infeasible: Words = Field([], description="yes or no")


@router.get("/task-sets", response=TaskSetPage, summary="List task sets")
def list_task_sets(request: ApiRequest, paging: Paged) -> Any:
    """Every version of every task set, newest first."""
    known_only(request, Paging)
    rows, following = page_of(TaskSet.objects.all(), paging, "-id")
    return TaskSetPage(items=[_set_out(row) for row in rows], next=following)


@router.get("/tasks", response=TaskPage, summary="List and filter tasks")
def list_tasks(request: ApiRequest, paging: Paged, filters: Annotated[TaskFilters, Query()]) -> Any:
    """Tasks by the filters of their list."""
    known_only(request, Paging, TaskFilters)
    found = filtered(TaskFilter(request.GET, queryset=Task.objects.visible_to(request.user)))
    listed = found.select_related("task_set").defer("record", "spec", "reference", "goal")
    cut = listed.annotate(goal_start=Left("goal", MOST_OF_GOAL))
    rows, following = page_of(cut, paging, "id")
    items = [filled(TaskOut, row, **_shown(row), goal=row.goal_start) for row in rows]
    return TaskPage(items=items, next=following)


@router.get("/tasks/{task_id}", response=TaskDetail, summary="Read a task")
def read_task(request: ApiRequest, task_id: RowId) -> Any:
    """A task with its specification, as far as you may know it."""
    tasks: Any = Task.objects.visible_to(request.user).select_related("task_set")
    task = first_of(tasks.filter(pk=task_id), "task")
    sealed = ("spec", "reference", "infeasible_reason")
    hidden = dict.fromkeys(sealed) if task.is_sealed else {}
    return filled(TaskDetail, task, **_shown(task), **hidden)


def _shown(task: Any) -> dict[str, Any]:
    """The fields of a task that have other names in its row."""
    return {
        "task_set": _set_out(task.task_set),
        "name": task.external_id,
        "evaluation": task.shown_kind,
        "infeasible": task.shown_infeasible,
    }


def _set_out(row: TaskSet) -> TaskSetOut:
    return filled(TaskSetOut, row, parent=row.parent_id)
