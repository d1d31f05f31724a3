"""The page of one run: its timeline, parts that come on demand, and news while it goes on."""

import re
from typing import Any, TypedDict
from uuid import UUID

from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from runs.interface.requests import AppRequest
from runs.knowledge.hints.pages import hint_facts
from runs.knowledge.web.pages import knowledge_facts
from runs.launching.policies.words import policy_facts
from runs.launching.sites import sites_during
from runs.models import Run, Step
from runs.models.parsing import read_number
from runs.models.runs.run import hides_something
from runs.storage.links import stub_names
from runs.viewer.timeline.marks import Mark, events_shown, marks_of
from runs.viewer.timeline.step_calls import step_calls
from runs.viewer.timeline.step_details import screen_shown, step_details
from runs.viewer.timeline.step_rows import StepRow, step_rows
from runs.viewer.timeline.timeline import (
    TEXT_CHARS,
    Final,
    StepTexts,
    end_of,
    step_texts,
    timeline_context,
)

ENDED = "ended"
MOST_FILES = 500
"""So many files of a run, beside those of its steps, are listed on its page and in the API."""


class News(TypedDict):
    """What the script adds to the timeline: steps from `first` on, and states of earlier ones."""

    first: int
    steps: list[StepRow]
    texts: dict[int, StepTexts]
    states: dict[int, str]
    ended: bool
    events: list[Mark]
    final: Final | None


def seen_of(run: Run) -> str:
    """A word for what can be seen of the run now: another one once there is something new."""
    if not run.is_active:
        return ENDED
    heard = run.heartbeat_at.timestamp() if run.heartbeat_at else 0
    cancels = "c" if run.cancel_requested_at else ""
    return f"{run.n_steps}-{heard:.6f}{cancels}"


def live_context(run: Run, *, first: int | None = None) -> dict[str, Any]:
    """What `runs/viewer/_run_live.html` needs; the run is one out of `visible_to`.

    Args:
        first: steps from this one on go with it; None for a page that has all of them.
    """
    silent_s = (timezone.now() - run.heartbeat_at).total_seconds() if run.heartbeat_at else None
    return {
        "run": run,
        "live": {
            "seen": seen_of(run),
            "silent_s": None if silent_s is None else max(int(silent_s), 0),
            "news": None if first is None else _news(run, first),
        },
    }


def _news(run: Run, first: int) -> News:
    """Two queries while the run goes on and no step is new, four when steps are, six at its end."""
    # The step before the new ones has only now got what came after it.
    begin = max(first - 1, 0)
    steps = step_rows(run, begin) if run.n_steps > first or not run.is_active else []
    # Many at once are asked for in parts, when they are looked at.
    texts = step_texts(run, first) if steps else {}
    states = dict(
        run.steps.exclude(state=Step.State.LIVE).order_by("index").values_list("index", "state")
    )
    ended = not run.is_active
    events = events_shown(run) if ended else []
    return News(
        first=begin,
        steps=steps,
        texts=texts,
        states=states,
        ended=ended,
        events=marks_of(run, events, step_rows(run)) if ended else [],
        final=end_of(run, events, TEXT_CHARS) if ended else None,
    )


_SEEN = re.compile(r"(\d{1,9})-")


@require_safe
def run_live(request: AppRequest, run_id: UUID) -> HttpResponse:
    """What came since the page last saw the run (`seen`); 204 where nothing did."""
    run = get_object_or_404(Run.objects.visible_to(request.user, [run_id]).defer("record", "goal"))
    seen = request.GET.get("seen", "")
    if seen == seen_of(run):
        return HttpResponse(status=204)
    found = _SEEN.match(seen)
    first = int(found[1]) if found else 0
    return render(request, "runs/viewer/_run_live.html", live_context(run, first=first))


def spending_facts(run: Run) -> dict[str, Any]:
    """Sums over a run's model calls, those of abandoned branches included; None for unknown.

    `unpriced`: so many of the calls have no known price, and are not in `cost`. Nothing where no
    tokens are known, or the run hides something from the viewer.
    """
    if hides_something(run) or (run.input_tokens is None and run.output_tokens is None):
        return {}
    unpriced = _number(run.record.get("extra"), "unpriced_calls")
    return {
        "spending": {
            "input_tokens": run.input_tokens,
            "cached_tokens": _number(run.record.get("totals"), "cached_tokens"),
            "output_tokens": run.output_tokens,
            "cost": run.cost,
            "unpriced": unpriced or 0,
        }
    }


def _number(table: object, name: str) -> int | None:
    """Records come from outside too: what is no number is not known."""
    value = table.get(name) if isinstance(table, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


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
    return JsonResponse({"texts": step_texts(run, first)})


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
    """Logs and other files of a run, as a fragment; for those who are not blinded to it."""
    run = get_object_or_404(Run.objects.visible_to(request.user, [run_id]))
    if hides_something(run):
        raise Http404
    files = run.attachments.select_related("blob").order_by("step_index", "role", "name", "id")
    n_more = max(files.count() - MOST_FILES, 0)
    context = {"run": run, "files": files[:MOST_FILES], "n_more": n_more}
    return render(request, "runs/viewer/_files.html", context)


def stub_words(run: Run) -> list[str]:
    """What a trajectory must say, beside task, agent and trial, to make this stub whole."""
    if not run.is_stub:
        return []
    names = stub_names(run)
    said = {
        _("task set version"): names.task_set_version,
        _("agent version"): names.agent_version,
        _("model"): names.model,
        _("seed"): names.seed,
    }
    return [f"{name} {value}" for name, value in said.items() if value is not None]


def run_context(run: Run, request: AppRequest) -> dict[str, Any]:
    """What the run page shows around the timeline."""
    pictures = run.attachments.filter(role="goal_image").values_list("blob_id", flat=True)
    return {
        "run": run,
        "goal": run.goal or run.task.goal,
        "goal_pictures": list(pictures),
        # That a site was not ready hints at how the run ended.
        "sites": () if hides_something(run) else sites_during(run),
        "stub_words": stub_words(run),
        **policy_facts(run),
        **spending_facts(run),
        **hint_facts(run, request.user),
        **knowledge_facts(run, request.user),
        **timeline_context(run, request.user),
        **(live_context(run) if run.is_active else {}),
    }
