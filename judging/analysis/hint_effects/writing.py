"""Hints that people and programs have written: the page, its estimate, and the start."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.http import require_http_methods

from judging.analysis.experiments.access import PERMISSIONS, record_verdicts
from judging.analysis.hint_effects.forms import HintWritingForm
from judging.analysis.hint_effects.source_runs import (
    SourceRuns,
    WritingEstimate,
    listed,
    source_runs,
    writing_estimate,
)
from runs.catalogue.agents.choices import ModelUnavailableError, usable_entry, usable_models
from runs.interface.fragments import AppRequest
from runs.knowledge.hints.writing import start_hint_writing
from runs.models import LearningJob
from runs.queue.paid_work import WorkRefusedError

MOST_LISTED = 200
WRITING = "sources of hints"


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required([*PERMISSIONS, "runs.add_hint"], raise_exception=True)
def hint_write(request: AppRequest) -> HttpResponse:
    """The form; sent with `estimate` it lists the sources, with `start` it has hints written."""
    models, problem = usable_models()
    is_sent = "start" in request.POST or "estimate" in request.POST
    given = request.POST if is_sent else None
    initial = {
        name: request.GET[name] for name in ("task_set", "experiment") if name in request.GET
    }
    form = HintWritingForm(given, user=request.user, models=models, initial=initial)
    if "estimate" in request.POST:
        return render(
            request, "judging/analysis/hint_effects/_hint_sources.html", _estimated(request, form)
        )
    if "start" in request.POST and form.is_valid() and (response := _started(request, form)):
        return response
    context = {"form": form, "problem": problem}
    return render(
        request,
        "judging/analysis/hint_effects/hint_write.html",
        context,
        status=422 if is_sent else 200,
    )


def _estimated(request: AppRequest, form: HintWritingForm) -> dict[str, Any]:
    """The sources and what writing takes, or what is wrong with the form."""
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        return {"problem": f"{form[name].label}: {errors[0]}"}
    sources, estimate = planned(request, form)
    return {
        "source": form.source,
        "runs": list(listed(sources.runs)[:MOST_LISTED]),
        "n_runs": len(sources.runs),
        "n_further": len(sources.every) - len(sources.runs),
        "estimate": estimate,
    }


def planned(request: AppRequest, form: HintWritingForm) -> tuple[SourceRuns, WritingEstimate]:
    """The sources of a valid form, and what writing from them takes; to read them is recorded.

    Raises ModelUnavailableError where the model cannot be asked.
    """
    sources = source_runs(form.source_query, form.source, form.n_per_task)
    record_verdicts(request, form.source, sources.every, WRITING)
    entry = usable_entry(form.cleaned_data["model"])
    return sources, writing_estimate(sources, form.levels_asked, entry, form.wording)


def started(request: AppRequest, form: HintWritingForm) -> LearningJob:
    """The job that a valid form asks for.

    Raises WorkRefusedError where no run succeeded, or the model cannot be asked so.
    """
    source = form.source
    try:
        sources, expected = planned(request, form)
    except ModelUnavailableError as error:
        raise WorkRefusedError(str(error)) from error
    with override("en"):
        # Kept as everybody's, and told in each reader's own language.
        name, rule = source.name, source.rule
    return start_hint_writing(
        model=form.cleaned_data["model"],
        run_ids=sources.runs,
        further=sources.further,
        levels=form.levels_asked,
        wording=form.wording,
        verdict=source.key,
        verdict_name=name,
        verdict_rule=rule,
        max_cost=form.cleaned_data["max_cost"],
        estimate=expected.as_json(),
        user=request.user,
    )


def _started(request: AppRequest, form: HintWritingForm) -> HttpResponse | None:
    try:
        job = started(request, form)
    except WorkRefusedError as error:
        form.add_error(None, str(error))
        return None
    messages.success(request, _("Hints are being written."))
    return redirect("runs:hint_job", job.pk)
