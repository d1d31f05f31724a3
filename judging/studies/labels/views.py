"""Labelling one run after the other."""

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Concatenate, ParamSpec
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from judging.models import Assignment, Label, Study, StudyItem
from judging.studies.labels.assignment import (
    NotAssignableError,
    annotated_study,
    offer_from,
    reassign,
    skip,
)
from judging.studies.labels.forms import CommentForm, LabelForm, SkipForm, read_draft, read_seconds
from judging.studies.labels.open_runs import MAX_SKIPS
from judging.studies.labels.pages import annotate_context, done_context, examples_beside
from judging.studies.labels.services import (
    LabelClosedError,
    LabelledElsewhereError,
    LabelRefusedError,
    NotAnnotatorError,
    add_comment,
    remove_comment,
    store_label,
    undo_label,
)
from judging.studies.labels.state import (
    drop_draft,
    held_assignment,
    own_assignment,
    own_comments,
    save_draft,
)
from runs.interface.requests import AppRequest, wants_partial
from runs.models.parsing import ids_of, read_number

P = ParamSpec("P")
View = Callable[..., HttpResponse]


def for_annotators(view: Callable[Concatenate[AppRequest, Study, P], HttpResponse]) -> View:
    """Admits the annotators of the study; for everybody else the page does not exist."""

    @wraps(view)
    def guarded(
        request: AppRequest, study_id: int, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        study = annotated_study(study_id, request.user)
        if study is None:
            raise Http404
        return view(request, study, *args, **kwargs)

    return guarded


def for_assigned(view: Callable[[AppRequest, Assignment], HttpResponse]) -> View:
    """As `for_annotators`, with the person's own assignment that the posted form is about.

    Assignment, run and study come by one query.
    """

    @wraps(view)
    def guarded(request: AppRequest, study_id: int) -> HttpResponse:
        own = own_assignment(**_asked(request, study_id))
        if own is None:
            raise Http404
        return view(request, own)

    return guarded


def _asked(request: AppRequest, study_id: int) -> dict[str, int]:
    asked = read_number(request.POST.get("assignment", ""))
    if asked is None:
        raise Http404
    return {"assignment": asked, "user": request.user.pk, "study": study_id}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def annotate(request: AppRequest, study_id: int) -> HttpResponse:
    """The run to label now, with its form; POST takes the label and shows the next."""
    return (_submit if request.method == "POST" else _next)(request, study_id)


def _next(request: AppRequest, study_id: int) -> HttpResponse:
    with transaction.atomic():
        study = annotated_study(study_id, request.user, is_locked=True)
        if study is None:
            raise Http404
        offer = offer_from(study, request.user)
    if offer.assignment is None:
        return render(
            request, "judging/studies/annotate_done.html", done_context(study, request.user)
        )
    context = annotate_context(offer.assignment, request.user, offer=offer)
    return render(request, "judging/studies/annotate.html", context)


@never_cache
@require_http_methods(["GET", "HEAD"])
@for_annotators
def annotate_run(request: AppRequest, study: Study, run_id: UUID) -> HttpResponse:
    """One particular run of the person's own: to change its label, or one that was skipped."""
    own = study.items.filter(assignments__user=request.user, assignments__is_repeat=False)
    item = get_object_or_404(own, run=run_id)
    try:
        assignment = reassign(study=study, user=request.user, item=item)
    except NotAssignableError:
        messages.warning(request, _("Others are working on this run, or have judged it."))
        return redirect("judging:annotate", study.pk)
    if assignment.state == Assignment.State.SUBMITTED and item.status != item.Status.OPEN:
        messages.warning(request, LabelClosedError.words)
        return redirect("judging:study_detail", study.pk)
    return render(
        request, "judging/studies/annotate.html", annotate_context(assignment, request.user)
    )


def _submit(request: AppRequest, study_id: int) -> HttpResponse:
    """Checks what is posted while nobody else changes assignment or run: both are read once."""
    with held_assignment(**_asked(request, study_id)) as assignment:
        if assignment is None:
            raise Http404
        return _store(request, assignment)


def _store(request: AppRequest, assignment: Assignment) -> HttpResponse:
    study = assignment.item.study
    form = LabelForm(request.POST, for_=assignment)
    if not form.is_valid():
        _keep(request, assignment)
        context = annotate_context(assignment, request.user, form)
        return render(request, "judging/studies/annotate.html", context, status=422)
    try:
        store_label(held=assignment, user=request.user, submission=form.submission())
    except LabelRefusedError as refused:
        _keep(request, assignment)
        return _refuse(request, assignment.item, form, refused)
    if form.cleaned_data["version"] is not None:
        messages.success(request, _("Saved."))
        return redirect("judging:study_detail", study.pk)
    return HttpResponseRedirect(request.path)  # this page, with the next run


def _refuse(
    request: AppRequest, item: StudyItem, form: LabelForm, refused: LabelRefusedError
) -> HttpResponse:
    """What the person wrote is shown: as a change of their label, or to be copied."""
    if isinstance(refused, LabelledElsewhereError):
        messages.warning(request, str(refused.words))
        return redirect("judging:annotate_run", item.study_id, item.run_id)  # with the draft
    context = {
        "where": item.study.name,
        "where_url": reverse("judging:study_detail", args=[item.study_id]),
        "late_words": refused.words,
        "late_verdict": form.cleaned_data["success"],
        "late_text": form.cleaned_data["rationale"],
    }
    return render(request, "judging/studies/late.html", context, status=409)


def _keep(request: AppRequest, assignment: Assignment) -> datetime:
    """Keep what has been filled in so far; when that was."""
    return save_draft(
        assignment=assignment,
        user=request.user,
        draft=None if "is_sign_of_life" in request.POST else read_draft(request.POST),
        seconds=read_seconds(request.POST),
    )


@require_POST
@for_assigned
def draft_save(request: AppRequest, assignment: Assignment) -> HttpResponse:
    """Keep what has been filled in so far: {"is_held": whether the person still holds the run}."""
    now = _keep(request, assignment)
    assignment.refresh_from_db()
    is_change = assignment.state == Assignment.State.SUBMITTED
    return JsonResponse({"is_held": is_change or assignment.leased_until > now})


@require_POST
@for_assigned
def change_cancel(request: AppRequest, assignment: Assignment) -> HttpResponse:
    """Leave the person's own label as it stands."""
    drop_draft(assignment)
    return redirect("judging:study_detail", assignment.item.study_id)


@require_POST
@for_assigned
def label_skip(request: AppRequest, assignment: Assignment) -> HttpResponse:
    """Give the run back with a reason and show the next."""
    form = SkipForm(request.POST)
    if form.is_valid():
        reason = form.cleaned_data["reason"]
        times = skip(assignment=assignment, user=request.user, reason=reason)
        if times >= MAX_SKIPS:
            messages.info(request, _("Skipped twice, so it is left to the others."))
        elif times:
            messages.info(request, _("Skipped. It comes back at the end."))
    else:
        messages.error(request, " ".join(map(str, form.errors["reason"])))
    return redirect("judging:annotate", assignment.item.study_id)


@require_POST
@for_annotators
def label_undo(request: AppRequest, study: Study) -> HttpResponse:
    """Take back the label just given and show its run again."""
    own = Label.objects.filter(annotator=request.user, item__study=study)
    label = own.filter(pk__in=ids_of([request.POST.get("label", "")])).first()
    if label is None:
        return redirect("judging:annotate", study.pk)
    try:
        assignment = undo_label(label=label, user=request.user)
    except LabelClosedError:
        words = _("Too late: ten seconds have passed, or all labels of the run have arrived.")
        messages.warning(request, words)
        return redirect("judging:annotate", study.pk)
    except NotAnnotatorError:
        messages.warning(request, _("The study was closed, so this label stays."))
        return redirect("judging:annotate", study.pk)
    if assignment.is_repeat:
        return redirect("judging:annotate", study.pk)
    return redirect("judging:annotate_run", study.pk, assignment.item.run_id)


@require_POST
@for_assigned
def step_comment(request: AppRequest, assignment: Assignment) -> HttpResponse:
    """Add a remark on a step, or take one's own away; answers with the list of them."""
    study = assignment.item.study
    form = CommentForm(request.POST, of=assignment)
    removed, is_kept = read_number(request.POST.get("remove", "")), False
    try:
        if removed is not None:
            remove_comment(comment_id=removed, user=request.user)
        elif form.is_valid():
            add_comment(
                assignment=assignment,
                user=request.user,
                step_index=form.cleaned_data["step_index"],
                text=form.cleaned_data["text"],
            )
            is_kept = True
        else:
            wrong = (error for errors in form.errors.values() for error in errors)
            messages.error(request, " ".join(map(str, wrong)))
    except NotAnnotatorError as refused:
        messages.warning(request, str(refused.words))
    if not wants_partial(request):
        if assignment.state == Assignment.State.SUBMITTED:
            return redirect("judging:annotate_run", study.pk, assignment.item.run_id)
        return redirect("judging:annotate", study.pk)
    context = {"comments": own_comments(assignment), "assignment": assignment, "study": study}
    return render(
        request,
        "judging/studies/_step_comments.html",
        context | {"is_answer": True, "is_kept": is_kept},
    )


@never_cache
@require_safe
@for_annotators
def label_examples(request: AppRequest, study: Study, run_id: UUID) -> HttpResponse:
    """Settled runs of other tasks, beside the guidelines of a run of the person's own."""
    own = Assignment.objects.filter(item__study=study, user=request.user, item__run=run_id)
    first = own.select_related("item__run__task__task_set").first()
    if first is None:
        raise Http404
    context = {"examples": examples_beside(first, request.user)}
    return render(request, "judging/studies/_examples.html", context)
