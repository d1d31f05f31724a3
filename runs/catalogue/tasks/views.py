"""Tasks: the table, one task, one task set. For those who may view tasks."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers
from django_tables2 import RequestConfig

from runs.catalogue.tasks.reading import (
    differences,
    expectations,
    milestone_rows,
    sites_without_host,
    spelled_json,
    start_addresses,
)
from runs.catalogue.tasks.tables import CATEGORIES, TASKS, TaskFilter, TaskTable
from runs.interface.lists import default_address, list_context
from runs.interface.paging import PER_PAGE, BoundedPaginator
from runs.interface.requests import AppRequest, needs, wants_partial
from runs.interface.table_rows import menu_of
from runs.models import Run, Task, TaskRevision, TaskSet, User

RUNS_PER_PAGE = 50
REVISIONS_PER_PAGE = 25
MOST_VERSIONS = 50


def task_context(task: Task, user: User, page: str) -> dict[str, Any]:
    """Everything on a task's page. The number of queries does not depend on its runs."""
    family = [
        row
        for row in Task.objects.filter(_family(task)).select_related("task_set").order_by("pk")
        if row.pk != task.pk
    ][:MOST_VERSIONS]
    runs = (
        Run.objects.visible_to(user)
        .filter(task__in=[task.pk, *(row.pk for row in family)], superseded=False)
        .for_list()
        .order_by("-created_at", "-id")
    )
    context = {
        "task": task,
        "versions": family,
        "starts": start_addresses(task, settings.SITE_HOSTS),
        "sites_without_host": sites_without_host(task, settings.SITE_HOSTS),
        "runs_page": Paginator(runs, RUNS_PER_PAGE).get_page(page),
    }
    return context | (_unsealed(task) if not getattr(task, "is_sealed", True) else {})


def set_context(task_set: TaskSet, user: User, page: str) -> dict[str, Any]:
    """Everything on the page of a task set: what it holds, and what its patch changed."""
    tasks: Any = Task.objects.visible_to(user).filter(task_set=task_set)
    counts = tasks.order_by().aggregate(
        every=Count("pk"),
        sealed=Count("pk", filter=Q(is_sealed=True)),
        infeasible=Count("pk", filter=Q(shown_infeasible=True)),
    )
    patched = tasks.filter(shown_category__isnull=False)
    return {
        "task_set": task_set,
        "children": list(task_set.children.order_by("-created_at")),
        "counts": counts,
        "by_category": _counts(tasks, "shown_category", task_set, "patched", CATEGORIES),
        "by_site": _site_counts(tasks, task_set),
        "by_kind": _counts(tasks, "shown_kind", task_set, "kind", {}),
        "revisions": _revisions(patched, page),
    }


def _family(task: Task) -> Q:
    """The versions of a task: those it was made from and into, one patch away."""
    family = Q(original=task.pk)
    if task.original_id:
        family |= Q(pk=task.original_id) | Q(original=task.original_id)
    return family


def _unsealed(task: Task) -> dict[str, Any]:
    revision = TaskRevision.objects.filter(task=task).first()
    changed = []
    if revision is not None and task.original is not None:
        changed = differences(task.original, task, revision)
    return {
        "expectations": expectations(task.spec),
        "specification": spelled_json(task.spec),
        "reference": spelled_json(task.reference),
        "milestones": milestone_rows(task),
        "revision": revision,
        "differences": changed,
        "later": TaskRevision.objects.filter(task__original=task)
        .select_related("task__task_set")
        .order_by("-pk")[:MOST_VERSIONS],
    }


def _counts(
    tasks: Any, field: str, task_set: TaskSet, name: str, words: Mapping[str, Any]
) -> list[dict[str, Any]]:
    rows = (
        tasks.order_by()
        .exclude(Q(**{field: None}) | Q(**{field: ""}))
        .values_list(field)
        .annotate(n=Count("pk"))
        .order_by("-n", field)
    )
    return [
        _share(str(words.get(value, value)), n, task_set, {name: value})
        for value, n in rows[:MOST_VERSIONS]
    ]


def _site_counts(tasks: Any, task_set: TaskSet) -> list[dict[str, Any]]:
    """How many tasks go to each site; one that goes to several counts at each."""
    found: Counter[str] = Counter()
    for first, sites, n in tasks.order_by().values_list("site", "sites").annotate(n=Count("pk")):
        for site in {*sites, first} - {""}:
            found[site] += n
    most = sorted(found.items(), key=lambda row: (-row[1], row[0]))[:MOST_VERSIONS]
    return [_share(site, n, task_set, {"site": site}) for site, n in most]


def _share(words: str, n: int, task_set: TaskSet, choice: Mapping[str, str]) -> dict[str, Any]:
    """A share of the tasks of a set, and the filter that shows them."""
    return {"words": words, "n": n, "query": urlencode({"task_set": task_set.pk, **choice})}


def _revisions(patched: Any, page: str) -> Any:
    """A page of the patched tasks that are not sealed, by id, each with what changed."""
    rows = patched.select_related("revision", "original", "task_set").in_order()
    shown: Any = Paginator(rows, REVISIONS_PER_PAGE).get_page(page)
    shown.object_list = [
        {
            "task": task,
            "category": task.revision.get_category_display(),
            "why": task.revision.why,
            "differences": differences(task.original, task, task.revision) if task.original else [],
        }
        for task in shown.object_list
    ]
    return shown


@require_safe
@vary_on_headers("HX-Request")
@needs("runs.view_task")
def task_list(request: AppRequest) -> HttpResponse:
    """All tasks, filtered and sorted by what the person may see of them."""
    if own := default_address(request, TASKS):
        return redirect(own)
    shown = Task.objects.visible_to(request.user)
    task_filter = TaskFilter(request.GET, queryset=shown)
    table = TaskTable(task_filter.qs.in_order(), shown, request.user)
    RequestConfig(
        request, paginate={"per_page": PER_PAGE, "paginator_class": BoundedPaginator}
    ).configure(table)
    context = {
        "table": table,
        "filter": task_filter,
        "task_sets": TaskSet.objects.order_by("name", "version"),
        "has_tasks": bool(table.page.object_list) or Task.objects.exists(),
        **list_context(request, TASKS),
    }
    name = "_task_table" if wants_partial(request) else "task_list"
    return render(request, f"runs/catalogue/{name}.html", context)


@require_safe
@needs("runs.view_task")
def task_menu(request: AppRequest) -> HttpResponse:
    """The choices of a filter, and how many tasks each of them finds beside other filters."""
    of = partial(TaskFilter, queryset=Task.objects.visible_to(request.user))
    return HttpResponse(menu_of(request.GET, of, TaskFilter.counts))


@require_safe
@needs("runs.view_task")
def task_preview(request: AppRequest, task_id: int) -> HttpResponse:
    """What the pane beside the table shows of a task."""
    tasks = Task.objects.visible_to(request.user).select_related("task_set")
    task: Any = get_object_or_404(tasks, pk=task_id)
    context = {
        "task": task,
        "starts": start_addresses(task, settings.SITE_HOSTS),
        "expectations": [] if task.is_sealed else expectations(task.spec),
    }
    return render(request, "runs/catalogue/_task_preview.html", context)


@require_safe
@needs("runs.view_task")
def task_detail(request: AppRequest, task_id: int) -> HttpResponse:
    """One task: what it asks and expects, what a patch changed, and its runs."""
    tasks = Task.objects.visible_to(request.user).select_related("task_set", "original__task_set")
    task = get_object_or_404(tasks, pk=task_id)
    context = task_context(task, request.user, request.GET.get("page", "1"))
    return render(request, "runs/catalogue/task_detail.html", context)


@require_safe
@needs("runs.view_task")
def task_set_detail(request: AppRequest, set_id: int) -> HttpResponse:
    """One version of a task set, with every change that its patch made."""
    task_set = get_object_or_404(TaskSet.objects.select_related("parent"), pk=set_id)
    context = set_context(task_set, request.user, request.GET.get("page", "1"))
    return render(request, "runs/catalogue/task_set_detail.html", context)
