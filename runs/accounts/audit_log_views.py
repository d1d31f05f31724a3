"""The log of who did what: a page of it, and the whole as a file."""

from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.accounts.audit_log import record_act
from runs.accounts.audit_log_pages import (
    DOWNLOADED,
    WRITERS,
    ActFilter,
    page_context,
    reads_details,
    shown,
)
from runs.interface.fragments import AppRequest
from runs.models.audit_kinds import LOG_DOWNLOADED

CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}

may_read_acts = permission_required("runs.read_acts", raise_exception=True)


@require_safe
@may_read_acts
def act_list(request: AppRequest) -> HttpResponse:
    """Who did what, the newest first, by person, kind, object and time."""
    return render(
        request, "runs/accounts/act_list.html", page_context(request.GET.dict(), request.user)
    )


@require_safe
@may_read_acts
def act_file(request: AppRequest, ending: str) -> HttpResponseBase:
    """The acts that the filters choose, as CSV or JSONL."""
    acts = ActFilter(request.GET).chosen(request.user)[:DOWNLOADED]
    rows = list(shown(acts.iterator(), with_details=reads_details(request.user)))
    record_act(LOG_DOWNLOADED, after=f"{len(rows)} acts, {ending}")
    answer = StreamingHttpResponse(WRITERS[ending](rows), content_type=CONTENT_TYPES[ending])
    answer["Content-Disposition"] = f'attachment; filename="acts.{ending}"'
    answer["Cache-Control"] = "private, no-store"
    return answer
