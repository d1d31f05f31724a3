"""Disagreements: the list, one of them, and where one was overruled."""

from collections.abc import Callable
from functools import partial

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from judging.models import Dispute
from judging.studies.access import record_unblinding, record_unblindings
from judging.studies.blinding import disputes_answered_by
from judging.studies.disputes.pages import (
    DecisionForm,
    MessageForm,
    dispute_context,
    overruled_labels,
)
from judging.studies.disputes.services import (
    ClosedStudyError,
    DecidedMeanwhileError,
    DisputeError,
    add_message,
    decide,
)
from judging.studies.disputes.tables import DISPUTES, PER_PAGE, DisputeFilter, DisputeTable
from runs.interface.lists import default_address, list_context
from runs.interface.requests import AppRequest
from runs.interface.table_rows import menu_of


@require_safe
@vary_on_headers("HX-Request")
def dispute_list(request: AppRequest) -> HttpResponse:
    """Disputes that wait, then, behind the last of these, the latest decided ones."""
    if own := default_address(request, DISPUTES):
        return redirect(own)
    found = DisputeFilter(request.GET, user=request.user)
    waiting = list(found.waiting.values_list("pk", flat=True))
    page = Paginator(waiting, PER_PAGE).get_page(request.GET.get("page"))
    decided = [] if page.has_next() else found.decided.values_list("pk", flat=True)
    context = {
        "page": page,
        "filter": found,
        "table": DisputeTable([*page.object_list, *decided], request.user),
        "n_overruled": overruled_labels(request.user).count(),
        **list_context(request, DISPUTES),
    }
    return render(request, "judging/studies/dispute_list.html", context)


@require_safe
def dispute_menu(request: AppRequest) -> HttpResponse:
    """The choices of a filter, and how many disputes each of them finds beside other filters."""
    of = partial(DisputeFilter, user=request.user)
    return HttpResponse(menu_of(request.GET, of, DisputeFilter.counts))


@never_cache
@require_safe
def dispute_detail(request: AppRequest, dispute_id: int) -> HttpResponse:
    """One dispute: the run, the labels as A and B, the discussion, the decision."""
    dispute, is_hidden = _dispute(request, dispute_id)
    if is_hidden:
        raise Http404
    return render(request, "judging/studies/dispute.html", dispute_context(dispute, request.user))


@require_safe
def overruled(request: AppRequest) -> HttpResponse:
    """The person's own labels that the reference verdict contradicts, and why."""
    page = Paginator(overruled_labels(request.user), PER_PAGE).get_page(request.GET.get("page"))
    items = [label.item for label in page]
    record_unblindings(user=request.user, items=items, reason="overruled label")
    return render(request, "judging/studies/overruled.html", {"page": page})


@require_POST
def dispute_message(request: AppRequest, dispute_id: int) -> HttpResponse:
    """Say something; annotators may propose a verdict with it."""

    def say(dispute: Dispute, said: dict[str, str]) -> str:
        settled = add_message(dispute=dispute, author=request.user, **said)
        return _("You agree: the run is settled.") if settled else ""

    return _saved(request, dispute_id, MessageForm(request.POST), say)


@require_POST
def dispute_decide(request: AppRequest, dispute_id: int) -> HttpResponse:
    """The adjudicator's decision."""

    def settle(dispute: Dispute, said: dict[str, str]) -> str:
        decide(dispute=dispute, adjudicator=request.user, **said)
        return _("Saved.")

    return _saved(request, dispute_id, DecisionForm(request.POST), settle)


def _saved(
    request: AppRequest,
    dispute_id: int,
    form: MessageForm | DecisionForm,
    save: Callable[[Dispute, dict[str, str]], str],
) -> HttpResponse:
    """Back to the dispute; 409 with the person's text if it comes too late.

    Args:
        save: stores what the form says; a message to the person, empty for none.
    """
    dispute, is_hidden = _dispute(request, dispute_id)
    if is_hidden:
        return _conflict(request, dispute, form)
    if not form.is_valid():
        context = dispute_context(dispute, request.user, sent=form)
        return render(request, "judging/studies/dispute.html", context, status=422)
    try:
        told = save(dispute, form.cleaned_data)
    except (ClosedStudyError, DecidedMeanwhileError) as late:
        return _conflict(request, dispute, form, late.words)
    except DisputeError as refused:
        raise PermissionDenied(refused.words) from refused
    if told:
        messages.success(request, told)
    return _back(request, dispute)


def _dispute(request: AppRequest, dispute_id: int) -> tuple[Dispute, bool]:
    """The dispute, and whether it was decided and is hidden from the person since.

    That they see it is recorded.
    """
    # Whether it is settled and whether it still waits is one question: if it is decided meanwhile,
    # nobody loses what they wrote to a 404.
    disputes, hidden = disputes_answered_by(request.user)
    asked = disputes.with_hidden(hidden).select_related("item__study", "item__run")
    dispute = get_object_or_404(asked, pk=dispute_id)
    if not dispute.is_hidden:
        record_unblinding(user=request.user, item=dispute.item, reason="dispute")
    return dispute, dispute.is_hidden


def _back(request: AppRequest, dispute: Dispute) -> HttpResponse:
    """To the dispute; to the list where its run still waits for the person in another study."""
    _, is_hidden = _dispute(request, dispute.pk)
    if is_hidden:
        return redirect("judging:dispute_list")
    return redirect("judging:dispute_detail", dispute.pk)


def _conflict(
    request: AppRequest,
    dispute: Dispute,
    form: MessageForm | DecisionForm,
    words: str | Promise = DecidedMeanwhileError.words,
) -> HttpResponse:
    """What the person wrote, so that nothing is lost, beside what stands if they may see it.

    Args:
        words: why it was not taken.
    """
    form.is_valid()
    text = form.data.get("text", form.data.get("rationale", ""))
    verdict = form.cleaned_data.get("verdict", "")
    context = {"late_words": words, "late_text": text, "late_verdict": verdict}
    if _dispute(request, dispute.pk)[1]:
        context |= {"where": _("Disputes"), "where_url": reverse("judging:dispute_list")}
        return render(request, "judging/studies/late.html", context, status=409)
    context |= dispute_context(dispute, request.user)
    return render(request, "judging/studies/dispute.html", context, status=409)
