"""Web knowledge: sets, entries, extraction from runs, summaries, and the jobs that do both."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from runs.catalogue.language_models import usable_models
from runs.interface.requests import AppRequest, needs, wants_partial
from runs.knowledge.learning import cancelled, job_context, resumed
from runs.knowledge.web.forms import SELECTION, EntryForm, ExtractForm, LearnForm
from runs.knowledge.web.pages import KINDS, knowledge_context, knowledge_list_context
from runs.knowledge.web.services import (
    Estimate,
    LeakingEntryError,
    edit_entry,
    estimate_extraction,
    estimate_summary,
    start_extraction,
    start_summary,
    switch_entry,
)
from runs.knowledge.web.sets import UnfitEntryError
from runs.models import Experiment, KnowledgeEntry, KnowledgeSet, LearningJob, Run, User
from runs.models.parsing import ids_of, read_number
from runs.queue.paid_work import WorkRefusedError

may_view = needs("runs.view_knowledgeset")
may_add = needs("runs.view_knowledgeset", "runs.add_knowledgeset")
may_change = needs("runs.view_knowledgeset", "runs.change_knowledgeset")

PROBLEMS_SHOWN = 100


@require_safe
@may_view
def knowledge_list(request: AppRequest) -> HttpResponse:
    """All sets, or those that have to do with a run or an experiment."""
    context = knowledge_list_context(
        request.user, run=_run(request), experiment=_experiment(request), query=request.GET
    )
    return render(request, "runs/knowledge/knowledge_list.html", context)


@require_safe
@may_view
def knowledge_detail(request: AppRequest, pk: int) -> HttpResponse:
    """One version of a set: its size, its entries, what they came from and who had them."""
    sets = KnowledgeSet.objects.select_related("parent", "job", "created_by")
    context = knowledge_context(get_object_or_404(sets, pk=pk), request.user, request.GET)
    return render(request, "runs/knowledge/knowledge_detail.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@may_change
def knowledge_entry(request: AppRequest, pk: int) -> HttpResponse:
    """The form of an entry; saved, it changes the set or makes its next version."""
    entry = _entry(request, pk)
    initial = {"intent": entry.intent, "ok": entry.ok, "ng": entry.ng}
    form = EntryForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        try:
            edited = edit_entry(entry=entry, words=form.words(), user=request.user)
        except LeakingEntryError as error:
            form.add_error(None, str(error))
        else:
            return _changed(request, entry, edited)
    status = 422 if form.is_bound else 200
    context = {"form": form, "entry": entry, "set": entry.knowledge_set}
    return render(request, "runs/knowledge/knowledge_entry.html", context, status=status)


@require_POST
@may_change
def knowledge_switch(request: AppRequest, pk: int) -> HttpResponse:
    """Have agents told an entry, or no longer."""
    entry = _entry(request, pk)
    try:
        switched = switch_entry(entry=entry, is_enabled="on" in request.POST, user=request.user)
    except LeakingEntryError as error:
        messages.error(request, str(error))
        switched = entry
    return _changed(request, entry, switched)


def _changed(request: AppRequest, entry: KnowledgeEntry, now: KnowledgeEntry) -> HttpResponse:
    if now.knowledge_set_id != entry.knowledge_set_id:
        words = _("Saved as the next version, since the set is in use: %(set)s.")
        messages.success(request, words % {"set": now.knowledge_set})
    address = reverse("runs:knowledge_detail", args=[now.knowledge_set_id])
    return redirect(f"{address}?at={now.position}#entry-{now.position}")


def _entry(request: AppRequest, pk: int) -> KnowledgeEntry:
    shown = KnowledgeEntry.objects.visible_to(request.user).select_related("knowledge_set")
    return get_object_or_404(shown, pk=pk)


def _run(request: AppRequest) -> Run | None:
    ids = ids_of([request.GET.get("run", "")])
    if not ids:
        return None
    return get_object_or_404(Run.objects.visible_to(request.user, ids).select_related("task"))


def _experiment(request: AppRequest) -> Experiment | None:
    number = read_number(request.GET.get("experiment", ""))
    if number is None:
        return None
    return get_object_or_404(Experiment.objects.visible_to(request.user), pk=number)


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@may_add
def knowledge_extract(request: AppRequest) -> HttpResponse:
    """The form; sent with `estimate` it tells what it takes, with `start` it starts."""
    run_ids = ids_of(request.POST.getlist("run") or request.GET.getlist("run"))
    models, problem = usable_models()
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
    models, problem = usable_models()
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


@require_safe
@vary_on_headers("HX-Request")
@may_view
def learning_job(request: AppRequest, job_id: UUID) -> HttpResponse:
    """One job, live: how far it is, what it costs, what came of it."""
    job = _job(job_id)
    made = KnowledgeSet.objects.filter(job=job).order_by()
    raw = job.params.get("set") if job.kind == LearningJob.Kind.SUMMARISE else None
    context = {
        **job_context(job),
        "sets": sorted(made, key=lambda each: each.place),
        "raw": KnowledgeSet.objects.filter(pk=raw).first() if raw else None,
        "problems": _problems(job, request.user),
    }
    return render(request, "runs/knowledge/learning_job.html", context)


@require_POST
@may_add
def learning_cancel(request: AppRequest, job_id: UUID) -> HttpResponse:
    """Ask a job to stop."""
    return cancelled(request, _job(job_id))


@require_POST
@may_add
def learning_resume(request: AppRequest, job_id: UUID) -> HttpResponse:
    """Queue a stopped job again, where it stopped."""
    return resumed(request, _job(job_id))


def _problems(job: LearningJob, user: User) -> list[dict[str, Any]]:
    """Those about runs that the person judges are left out."""
    items = list(job.items.exclude(problem="")[:PROBLEMS_SHOWN])
    if job.kind != LearningJob.Kind.EXTRACT:
        return [{"problem": item.problem} for item in items]
    shown = Run.objects.visible_to(user).not_blind().select_related("task")
    runs = {run.pk: run for run in shown.filter(pk__in=[UUID(item.key) for item in items])}
    return [
        {"problem": item.problem, "run": runs[UUID(item.key)]}
        for item in items
        if UUID(item.key) in runs
    ]


def _job(job_id: UUID) -> LearningJob:
    jobs = LearningJob.objects.filter(kind__in=KINDS).select_related("created_by")
    return get_object_or_404(jobs, pk=job_id)
