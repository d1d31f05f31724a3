"""The page of one run: its timeline, and the parts of it that come on demand."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from runs.catalogue.sites.readiness import sites_during
from runs.interface.fragments import AppRequest
from runs.knowledge.hints.pages import hint_facts
from runs.knowledge.web.pages import knowledge_facts
from runs.launching.policies.run_facts import policy_facts
from runs.models import Run
from runs.models.parsing import read_number
from runs.models.shown_runs import hides_something
from runs.viewer.run_page.live_view import live_context
from runs.viewer.run_page.spending import spending_facts
from runs.viewer.timeline.screen_pages import screen_shown
from runs.viewer.timeline.step_calls import step_calls
from runs.viewer.timeline.step_details import step_details
from runs.viewer.timeline.timeline import PART, step_texts, timeline_context


@require_safe
def run_detail(request: AppRequest, run_id: UUID) -> HttpResponse:
    """A run from beginning to end. The number of queries does not depend on its length."""
    runs = Run.objects.visible_to(request.user, [run_id]).select_related(
        "task__task_set", "retried_by", "policy", "agent"
    )
    run = get_object_or_404(runs)
    return render(request, "runs/viewer/run_detail.html", run_context(run, request))


@require_safe
def run_steps(request: AppRequest, run_id: UUID) -> HttpResponse:
    """The texts of the steps from `from` on, as JSON: {"texts": {index: …}}."""
    run = get_object_or_404(Run.objects.visible_to(request.user, [run_id]).only("id"))
    first = read_number(request.GET.get("from", "0"))
    if first is None:
        raise Http404
    return JsonResponse({"texts": step_texts(run, first, PART)})


@require_safe
def run_step(request: AppRequest, run_id: UUID, index: int) -> HttpResponse:
    """Everything else that was recorded of one step, as a fragment."""
    run = get_object_or_404(Run.objects.visible_to(request.user, [run_id]))
    step = get_object_or_404(run.steps, index=index)
    return render(
        request, "runs/viewer/_step.html", {"run": run, "details": step_details(step, run)}
    )


@require_safe
def run_screen(request: AppRequest, run_id: UUID, index: int) -> HttpResponse:
    """What the agent was told of one step's screen, as a fragment: no more than it saw and did."""
    run = get_object_or_404(Run.objects.visible_to(request.user, [run_id]).defer("record"))
    step = get_object_or_404(run.steps.select_related("screenshot"), index=index)
    return render(request, "runs/viewer/_screen.html", {"run": run, "screen": screen_shown(step)})


@require_safe
def run_calls(request: AppRequest, run_id: UUID, index: int) -> HttpResponse:
    """Prompts and replies of one step, as a fragment; for those from whom nothing is hidden."""
    run = get_object_or_404(Run.objects.visible_to(request.user, [run_id]).defer("record"))
    if hides_something(run):
        raise Http404
    step = get_object_or_404(run.steps, index=index)
    return render(request, "runs/viewer/_calls.html", {"run": run, "calls": step_calls(step, run)})


@require_safe
def run_files(request: AppRequest, run_id: UUID) -> HttpResponse:
    """Logs and other files of a run, as a fragment; for those who are not blind on it."""
    run = get_object_or_404(Run.objects.visible_to(request.user, [run_id]))
    if hides_something(run):
        raise Http404
    files = run.attachments.select_related("blob").order_by("step_index", "role", "name", "id")
    return render(request, "runs/viewer/_files.html", {"run": run, "files": files[:500]})


def run_context(run: Run, request: AppRequest) -> dict[str, Any]:
    """What the run page shows around the timeline."""
    pictures = run.attachments.filter(role="goal_image").values_list("blob_id", flat=True)
    return {
        "run": run,
        "goal": run.goal or run.task.goal,
        "goal_pictures": list(pictures),
        # That a site was not ready hints at how the run ended.
        "sites": () if hides_something(run) else sites_during(run),
        **policy_facts(run),
        **spending_facts(run),
        **hint_facts(run, request.user),
        **knowledge_facts(run, request.user),
        **timeline_context(run, request.user),
        **(live_context(run) if run.is_active else {}),
    }
