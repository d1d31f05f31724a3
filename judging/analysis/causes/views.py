"""Causes of evaluators' errors: the sums, and tagging one error or many."""

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from judging.analysis.audits.views import audit_page, facts_of
from judging.analysis.causes.pages import (
    TAG,
    CauseForm,
    CausePane,
    SelectedErrorsForm,
    cause_pane,
    cause_panels,
    next_untagged,
)
from judging.analysis.causes.tags import Tagging, tag_errors, undo_tags
from judging.analysis.reports.registry import as_picture
from judging.models import EvaluatorVersion, Study
from judging.models.causes import Batch
from judging.studies.access import for_auditors, record_unblinding
from runs.interface.requests import AppRequest, needs, redirect_whole, wants_partial
from runs.models.parsing import ids_of

WALK = ("study", "audit", "cell", "tag")


@audit_page
def audit_causes(request: AppRequest, study: Study) -> HttpResponse:
    """Every evaluator's errors by cause and by where the repair belongs; refused of one split."""
    facts_of(request, study, "causes")
    context = {"study": study, "panels": cause_panels(study)}
    return render(request, "judging/analysis/causes/audit_causes.html", context)


@audit_page
def audit_causes_picture(request: AppRequest, study: Study, evaluator_id: int) -> HttpResponse:
    for panel in cause_panels(study):
        if panel.causes.audit.evaluator.pk == evaluator_id:
            return as_picture(panel.picture, "causes")
    raise Http404


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@needs(TAG)
@for_auditors
def cause_tag(request: AppRequest, study: Study, evaluator_id: int, run_id: UUID) -> HttpResponse:
    """The form for one error; saves it, and goes on to the next untagged one if asked to."""
    pane = _pane(request, study, evaluator_id, run_id)
    if request.method != "POST":
        return _render(request, pane, pane.form)
    action = request.POST.get("action")
    form = CauseForm(request.POST)
    if action == "undo":
        if pane.undoable is not None:
            batch = pane.undoable.batch
            undo_tags(user=request.user, study=study, batch=batch, item=pane.item)
    elif action == "clear":
        _tag_one(request, pane, Tagging())
    elif form.is_valid():
        _tag_one(request, pane, form.tagging)
    else:
        return _render(request, pane, form, status=422)
    if action == "next":
        return _go_on(request, pane)
    saved = _pane(request, study, evaluator_id, run_id)
    return _render(request, saved, saved.form, is_saved=True)


def _pane(request: AppRequest, study: Study, evaluator_id: int, run_id: UUID) -> CausePane:
    evaluator = get_object_or_404(EvaluatorVersion, pk=evaluator_id)
    walk = {key: request.GET[key] for key in WALK if key in request.GET}
    pane = cause_pane(study=study, evaluator=evaluator, run_id=run_id, walk=walk)
    if pane is None:
        raise Http404
    record_unblinding(user=request.user, item=pane.item, reason="cause of an error")
    return pane


def _tag_one(request: AppRequest, pane: CausePane, tagging: Tagging) -> None:
    tag_errors(
        user=request.user,
        study=pane.study,
        evaluator=pane.evaluator,
        item_ids=[pane.item.pk],
        tagging=tagging,
    )


def _render(
    request: AppRequest,
    pane: CausePane,
    form: CauseForm,
    status: int = 200,
    *,
    is_saved: bool = False,
) -> HttpResponse:
    context = {"pane": pane, "form": form, "study": pane.study, "is_saved": is_saved}
    name = "_cause_form" if wants_partial(request) else "cause_tag"
    return render(request, f"judging/analysis/causes/{name}.html", context, status=status)


def _go_on(request: AppRequest, pane: CausePane) -> HttpResponse:
    """To the next untagged error of the cell; where there is none, to the sums."""
    cells = request.GET.get("cell", pane.error)
    study, evaluator = pane.study, pane.evaluator
    run_id = next_untagged(study, evaluator, cells, pane.item.position)
    if run_id is None:
        messages.success(request, _("All errors here are tagged."))
        return redirect_whole(request, reverse("judging:audit_causes", args=[study.pk]))
    if wants_partial(request):
        page = reverse("runs:run_detail", args=[run_id])
    else:  # without scripts, which bring the form to the run's page, the form by itself
        page = reverse("judging:cause_tag", args=[study.pk, evaluator.pk, run_id])
    walk = {"study": study.pk, "audit": evaluator.pk, "cell": cells}
    return redirect_whole(request, f"{page}?{urlencode(walk)}")


@require_POST
@needs(TAG)
@for_auditors
def cause_tag_selected(
    request: AppRequest, study: Study, evaluator_id: int, cells: str
) -> HttpResponse:
    """Tag the chosen rows of a cell, and back to it."""
    evaluator = get_object_or_404(EvaluatorVersion, pk=evaluator_id)
    back = {"tag": request.POST["tag"]} if request.POST.get("tag") else {}
    form = SelectedErrorsForm(request.POST)
    if form.is_valid():
        done = tag_errors(
            user=request.user,
            study=study,
            evaluator=evaluator,
            item_ids=form.chosen,
            tagging=form.tagging,
        )
        _tell(request, done)
        back |= {"batch": str(done.batch)} if done.changed else {}
    for errors in form.errors.values():
        messages.error(request, " ".join(map(str, errors)))
    path = reverse("judging:audit_cells", args=[study.pk, evaluator_id, cells])
    return redirect(f"{path}?{urlencode(back)}" if back else path)


def _tell(request: AppRequest, done: Batch) -> None:
    words = ngettext("%(n)s error tagged.", "%(n)s errors tagged.", done.changed)
    messages.success(request, words % {"n": done.changed})
    if done.left_out:
        words = ngettext(
            "%(n)s selected run is no longer an error.",
            "%(n)s selected runs are no longer errors.",
            done.left_out,
        )
        messages.info(request, words % {"n": done.left_out})


@require_POST
@needs(TAG)
@for_auditors
def cause_undo(request: AppRequest, study: Study, evaluator_id: int, cells: str) -> HttpResponse:
    """Take back what was tagged together, and back to the cell."""
    undone = 0
    for batch in ids_of([request.POST.get("batch", "")]):
        undone = undo_tags(user=request.user, study=study, batch=batch)
    if undone:
        words = ngettext("%(n)s tag undone.", "%(n)s tags undone.", undone)
        messages.success(request, words % {"n": undone})
    else:
        messages.info(request, _("Nothing to restore."))
    return redirect("judging:audit_cells", study.pk, evaluator_id, cells)
