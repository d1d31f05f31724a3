"""Two runs side by side, and the choice of the second one."""

from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from runs.interface.fragments import AppRequest
from runs.models import Run
from runs.viewer.comparison.comparison import choices_for, comparison_context


@require_safe
def run_compare(request: AppRequest) -> HttpResponse:
    """Runs `a` and `b` of the query, as far as the viewer may see each; `steps=all` for all."""
    a, b = (_chosen(request, side) for side in "ab")
    shows_all = request.GET.get("steps") == "all"
    context = comparison_context(a, b, request.user, shows_all=shows_all)
    return render(request, "runs/viewer/run_compare.html", context)


@require_safe
def run_compare_choices(request: AppRequest, run_id: UUID) -> HttpResponse:
    """What the run can be compared with, for the run page's dialog."""
    run = get_object_or_404(Run.objects.visible_to(request.user, [run_id]))
    choices = choices_for(run, request.user)
    return render(request, "runs/viewer/_compare_choices.html", {"run": run, "choices": choices})


def _chosen(request: AppRequest, side: str) -> Run:
    """The run of one side.

    Raises:
        Http404: none is named, or the viewer may not open it.
    """
    try:
        pk = UUID(request.GET.get(side, ""))
    except ValueError:
        raise Http404 from None
    runs = Run.objects.visible_to(request.user, [pk]).select_related("task__task_set", "policy")
    return get_object_or_404(runs)
