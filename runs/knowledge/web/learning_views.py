"""Having web knowledge written: extraction from runs, and summaries."""

from uuid import UUID

from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from runs.catalogue.agents.language_models import ModelOffer, ModelUnavailableError, offered_models
from runs.interface.fragments import AppRequest, wants_partial
from runs.knowledge.web.forms import SELECTION, ExtractForm, LearnForm
from runs.knowledge.web.services import (
    Estimate,
    estimate_extraction,
    estimate_summary,
    start_extraction,
    start_summary,
)
from runs.knowledge.web.sets import UnfitEntryError
from runs.models import KnowledgeSet, LearningJob
from runs.models.parsing import ids_of
from runs.queue.paid_work import WorkRefusedError

may_add = permission_required(
    ["runs.view_knowledgeset", "runs.add_knowledgeset"], raise_exception=True
)


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@may_add
def knowledge_extract(request: AppRequest) -> HttpResponse:
    """The form; sent with `estimate` it tells what it takes, with `start` it starts."""
    run_ids = ids_of(request.POST.getlist("run") or request.GET.getlist("run"))
    models, problem = _models()
    is_sent = "start" in request.POST or "estimate" in request.POST
    form = ExtractForm(
        request.POST if is_sent else None,
        initial=_initial(request, run_ids),
        user=request.user,
        run_ids=run_ids,
        models=models,
    )
    if "estimate" in request.POST and wants_partial(request):
        return _estimated(request, form)
    if "start" in request.POST and form.is_valid() and (job := _started(request, form)):
        return redirect("runs:learning_job", job.pk)
    context = {"form": form, "problem": problem, "run_ids": run_ids}
    status = 422 if "start" in request.POST else 200
    return render(request, "runs/knowledge/knowledge_extract.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@may_add
def knowledge_summarise(request: AppRequest, pk: int) -> HttpResponse:
    """The same for the summary of a raw set."""
    raw = get_object_or_404(KnowledgeSet, pk=pk, kind=KnowledgeSet.Kind.RAW)
    models, problem = _models()
    is_sent = "start" in request.POST or "estimate" in request.POST
    form = LearnForm(request.POST if is_sent else None, models=models)
    if "estimate" in request.POST and wants_partial(request):
        return _summary_estimated(request, form, raw)
    if "start" in request.POST and form.is_valid():
        try:
            job = start_summary(knowledge_set=raw, user=request.user, **form.cleaned_data)
        except WorkRefusedError as error:
            form.add_error(None, str(error))
        else:
            return redirect("runs:learning_job", job.pk)
    context = {"form": form, "problem": problem, "set": raw}
    status = 422 if "start" in request.POST else 200
    return render(request, "runs/knowledge/knowledge_summarise.html", context, status=status)


def _initial(request: AppRequest, run_ids: list[UUID]) -> dict[str, str]:
    """What the address fills in: the chosen runs, or an experiment."""
    if run_ids:
        return {"source": SELECTION}
    number = request.GET.get("experiment", "")
    return {"source": f"experiment:{number}"} if number.isdecimal() else {}


def _models() -> tuple[list[ModelOffer], str]:
    """The models, and why none can be asked; empty if one can."""
    try:
        models = offered_models()
    except ModelUnavailableError as error:
        return [], str(error)
    if any(not offer.missing for offer in models):
        return models, ""
    missing = " ".join(f"{offer.name}: {offer.missing}." for offer in models)
    return models, missing or _(
        "No language model is configured. Describe one in a file, name the file in MODELS_FILE, "
        "and start again."
    )


def _started(request: AppRequest, form: ExtractForm) -> LearningJob | None:
    asked = form.cleaned_data
    try:
        return start_extraction(
            name=asked["name"],
            runs=form.runs(),
            model=asked["model"],
            then_summarise=asked["then_summarise"],
            max_cost=asked["max_cost"],
            user=request.user,
        )
    except WorkRefusedError as error:
        form.add_error(None, str(error))
        return None


def _estimated(request: AppRequest, form: ExtractForm) -> HttpResponse:
    form.full_clean()
    asked = form.cleaned_data
    found: Estimate | None = None
    if "source" in asked and "model" in asked:
        found = estimate_extraction(runs=form.runs(), model=asked["model"])
    context = {"estimate": found, "then_summarise": asked.get("then_summarise")}
    return render(request, "runs/knowledge/_knowledge_estimate.html", context)


def _summary_estimated(request: AppRequest, form: LearnForm, raw: KnowledgeSet) -> HttpResponse:
    form.full_clean()
    model = form.cleaned_data.get("model")
    context: dict[str, object] = {}
    try:
        context["estimate"] = estimate_summary(knowledge_set=raw, model=model) if model else None
    except UnfitEntryError as error:
        context["problem"] = str(error)
    return render(request, "runs/knowledge/_knowledge_estimate.html", context)
