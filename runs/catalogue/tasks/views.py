"""Tasks: the table, one task, one task set. For those who may view tasks."""

from django.conf import settings
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers
from django_tables2 import RequestConfig

from runs.catalogue.tasks.filters import TaskFilter
from runs.catalogue.tasks.pages import set_context, task_context
from runs.catalogue.tasks.tables import TaskTable
from runs.interface.fragments import AppRequest, wants_partial
from runs.interface.tables import PER_PAGE, CappedPaginator
from runs.models import Task, TaskSet


@require_safe
@vary_on_headers("HX-Request")
@permission_required("runs.view_task", raise_exception=True)
def task_list(request: AppRequest) -> HttpResponse:
    """All tasks, filtered and sorted by what the person may see of them."""
    shown = Task.objects.visible_to(request.user)
    task_filter = TaskFilter(request.GET, queryset=shown)
    table = TaskTable(task_filter.qs.in_order(), shown, request.user)
    RequestConfig(
        request, paginate={"per_page": PER_PAGE, "paginator_class": CappedPaginator}
    ).configure(table)
    context = {
        "table": table,
        "filter": task_filter,
        "task_sets": TaskSet.objects.order_by("name", "version"),
        "has_tasks": bool(table.page.object_list) or Task.objects.exists(),
    }
    name = "_task_table" if wants_partial(request) else "task_list"
    return render(request, f"runs/catalogue/{name}.html", context)


@require_safe
@permission_required("runs.view_task", raise_exception=True)
def task_detail(request: AppRequest, task_id: int) -> HttpResponse:
    """One task: what it asks and expects, what a patch changed, and its runs."""
    tasks = Task.objects.visible_to(request.user).select_related("task_set", "original__task_set")
    task = get_object_or_404(tasks, pk=task_id)
    page = request.GET.get("page", "1")
    context = task_context(task, request.user, settings.SITE_HOSTS, page)
    return render(request, "runs/catalogue/task_detail.html", context)


@require_safe
@permission_required("runs.view_task", raise_exception=True)
def task_set_detail(request: AppRequest, set_id: int) -> HttpResponse:
    """One version of a task set, with every change that its patch made."""
    task_set = get_object_or_404(TaskSet.objects.select_related("parent"), pk=set_id)
    context = set_context(task_set, request.user, request.GET.get("page", "1"))
    return render(request, "runs/catalogue/task_set_detail.html", context)
