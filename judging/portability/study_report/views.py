"""Reports and bundles of a study: asking for them, watching, taking them away."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import slugify
from django.utils.translation import get_language
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from judging.models import Study, StudyDownload
from judging.portability.study_report.choices import Choices
from judging.portability.study_report.downloads import KEPT_DAYS
from judging.portability.study_report.services import start_download
from judging.studies.access import for_auditors
from judging.studies.pages import MANAGE
from runs.interface.fragments import AppRequest, wants_partial
from runs.storage.blobs import read_blob

SHOWN = 20
EXPORT = "runs.export_run"


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@for_auditors
def study_downloads(request: AppRequest, study: Study) -> HttpResponse:
    """What the person had made of the study, live; a form for the next."""
    if request.method == "POST":
        kind = StudyDownload.Kind("bundle" if request.POST.get("kind") == "bundle" else "report")
        if kind is StudyDownload.Kind.BUNDLE and not _may_bundle(request):
            raise PermissionDenied
        choices = Choices(
            names="names" in request.POST,
            thoughts="thoughts" in request.POST,
            language=get_language() or "en",
        )
        start_download(study=study, kind=kind, choices=choices, user=request.user)
        return redirect("judging:study_downloads", study.pk)
    rows = list(_own(request, study)[:SHOWN])
    context = {
        "study": study,
        "rows": rows,
        "moves": any(row.is_active for row in rows),
        "may_bundle": _may_bundle(request),
        "kept_days": KEPT_DAYS,
    }
    name = "_study_download_table" if wants_partial(request) else "study_downloads"
    return render(request, f"judging/portability/{name}.html", context)


@require_safe
@for_auditors
def study_download_file(request: AppRequest, study: Study, download_id: UUID) -> HttpResponseBase:
    """The file, piece by piece, to who had it made."""
    finished = _own(request, study).filter(state=StudyDownload.State.FINISHED)
    download = get_object_or_404(finished, pk=download_id)
    if download.kind == StudyDownload.Kind.BUNDLE and not _may_bundle(request):
        raise PermissionDenied
    response = StreamingHttpResponse(_bytes(download), content_type="application/zip")
    name = f"{slugify(study.name) or study.pk}-{download.kind}.zip"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Content-Length"] = str(download.size)
    response["Cache-Control"] = "private, no-store"
    return response


@require_POST
@for_auditors
def study_download_cancel(request: AppRequest, study: Study, download_id: UUID) -> HttpResponse:
    """Stop making it."""
    download = get_object_or_404(_own(request, study), pk=download_id)
    StudyDownload.objects.request_cancel(download.pk)
    return redirect("judging:study_downloads", study.pk)


def _own(request: AppRequest, study: Study) -> QuerySet[StudyDownload]:
    return StudyDownload.objects.filter(study=study, created_by=request.user)


def _may_bundle(request: AppRequest) -> bool:
    """A bundle holds labels that are not open yet, and drafts: for who manages studies."""
    return request.user.has_perms([MANAGE, EXPORT])


def _bytes(download: StudyDownload) -> Iterator[bytes]:
    for part in download.parts.select_related("blob").order_by("position"):
        yield read_blob(part.blob)
