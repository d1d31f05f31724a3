"""Importing labels, verdicts and adjudications made elsewhere: the form, the look, the report."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from judging.models import LabelImport, Study
from judging.portability.label_imports.forms import STUDIES, LabelImportForm
from judging.portability.label_imports.pages import COLUMNS, label_import_context, label_import_row
from judging.portability.label_imports.services import (
    NEEDED,
    discard_after_look,
    start_look,
    store_after_look,
)
from judging.studies.imported import imported_studies
from runs.imports.services import GoneError
from runs.imports.views import list_page
from runs.interface.fragments import AppRequest
from runs.storage.file_storage import StoreUnavailableError

SHOWN = 50
MOST_NAMES = 200
"""Studies to pick from by name."""
LOOKED_THROUGH = 1_000
"""Studies, the newest, among which those are looked for."""

may_import = permission_required(NEEDED, raise_exception=True)


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@may_import
def label_import_list(request: AppRequest) -> HttpResponse:
    """The form, and the person's imports, live; a sent file is looked at in the background."""
    studies = imported_studies(request.user).order_by("-created_at")
    asked_for = request.GET.get("study", "")
    chosen = studies.filter(pk=asked_for).first() if _is_key(asked_for) else None
    form = LabelImportForm(
        request.POST or None,
        request.FILES or None,
        user=request.user,
        initial={"study": chosen.name if chosen else ""},
    )
    return list_page(
        request,
        "judging/portability/label_import_list.html",
        form,
        start_look,
        map(label_import_row, _own(request)[:SHOWN]),
        columns=COLUMNS,
        studies_list=STUDIES,
        studies=_names(studies),
    )


@require_safe
@vary_on_headers("HX-Request")
@may_import
def label_import_detail(request: AppRequest, import_id: UUID) -> HttpResponse:
    """One file: what it would bring, which rows are bad, what became of it."""
    sent = get_object_or_404(_own(request), pk=import_id)
    context = label_import_context(sent, request.user)
    return render(request, "judging/portability/label_import_detail.html", context)


@require_POST
@may_import
def label_import_decide(request: AppRequest, import_id: UUID) -> HttpResponse:
    """Store or discard a file that was looked at; a second press changes nothing."""
    sent = get_object_or_404(_own(request), pk=import_id)
    try:
        if "discard" in request.POST:
            discard_after_look(sent=sent)
        else:
            store_after_look(sent=sent)
    except GoneError:
        messages.error(request, _("The file is no longer kept. Send it again."))
    except StoreUnavailableError:
        messages.error(request, _("The file storage does not answer. Try again in a while."))
    return redirect("judging:label_import_detail", sent.pk)


def _names(studies: QuerySet[Study]) -> list[str]:
    """To pick from: the imported ones among the newest studies."""
    newest = Study.objects.order_by("-created_at", "-pk").values_list("pk", flat=True)
    among_newest = studies.filter(pk__among=list(newest[:LOOKED_THROUGH]))
    return list(among_newest.values_list("name", flat=True)[:MOST_NAMES])


def _own(request: AppRequest) -> QuerySet[LabelImport]:
    return LabelImport.objects.filter(created_by=request.user)


def _is_key(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 18
