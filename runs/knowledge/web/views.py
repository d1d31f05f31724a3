"""Web knowledge: the sets, one set with its entries, and the words of an entry."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs.interface.fragments import AppRequest
from runs.knowledge.web.forms import EntryForm
from runs.knowledge.web.pages import knowledge_context, knowledge_list_context
from runs.knowledge.web.services import LeakingEntryError, edit_entry, switch_entry
from runs.models import Experiment, KnowledgeEntry, KnowledgeSet, Run
from runs.models.parsing import read_number

may_view = permission_required("runs.view_knowledgeset", raise_exception=True)
may_change = permission_required(
    ["runs.view_knowledgeset", "runs.change_knowledgeset"], raise_exception=True
)


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
        words = _("The set is in use, so this is in its next version: %(set)s.")
        messages.success(request, words % {"set": now.knowledge_set})
    address = reverse("runs:knowledge_detail", args=[now.knowledge_set_id])
    return redirect(f"{address}?at={now.position}#entry-{now.position}")


def _entry(request: AppRequest, pk: int) -> KnowledgeEntry:
    shown = KnowledgeEntry.objects.visible_to(request.user).select_related("knowledge_set")
    return get_object_or_404(shown, pk=pk)


def _run(request: AppRequest) -> Run | None:
    if "run" not in request.GET:
        return None
    try:
        run_id = UUID(request.GET["run"])
    except ValueError:
        return None
    return get_object_or_404(Run.objects.visible_to(request.user, [run_id]).select_related("task"))


def _experiment(request: AppRequest) -> Experiment | None:
    number = read_number(request.GET.get("experiment", ""))
    if number is None:
        return None
    return get_object_or_404(Experiment.objects.visible_to(request.user), pk=number)
