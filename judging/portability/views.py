"""Downloads of studies and experiments: tables of data, reports and bundles."""

from collections.abc import Iterator
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import slugify
from django.utils.translation import get_language
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from judging.analysis.experiments.access import for_readers
from judging.analysis.experiments.population import Scope
from judging.models import Study, StudyDownload, StudyItem
from judging.portability.judgements.data_tables import (
    DATA_FORMATS,
    DATA_TABLES,
    Contents,
    DataTable,
    run_contents,
    study_contents_for,
)
from judging.portability.study_report.downloads import KEPT_DAYS, start_download
from judging.portability.study_report.pages import Choices
from judging.studies.access import for_auditors, record_unblindings
from judging.studies.pages import MANAGE
from runs.exports.views import attachment
from runs.interface.requests import AppRequest, demand
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
        if kind is StudyDownload.Kind.BUNDLE:
            demand(request.user, MANAGE, EXPORT)
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
        # It holds labels that are not open yet, and drafts: for who manages studies.
        "may_bundle": request.user.has_perms([MANAGE, EXPORT]),
        "kept_days": KEPT_DAYS,
    }
    return render(request, "judging/portability/study_downloads.html", context)


@require_safe
@for_auditors
def study_download_file(request: AppRequest, study: Study, download_id: UUID) -> HttpResponseBase:
    """The file, piece by piece, to who had it made."""
    finished = _own(request, study).filter(state=StudyDownload.State.FINISHED)
    download = get_object_or_404(finished, pk=download_id)
    if download.kind == StudyDownload.Kind.BUNDLE:
        demand(request.user, MANAGE, EXPORT)
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


def _bytes(download: StudyDownload) -> Iterator[bytes]:
    for part in download.parts.select_related("blob").order_by("position"):
        yield read_blob(part.blob)


@require_safe
@for_auditors
def study_data(request: AppRequest, study: Study, name: str, ending: str) -> HttpResponseBase:
    """Labels, verdicts, evaluations or figures of a study as a file."""
    table = _table(name, ending)
    return _answer(request, table, study_contents_for(request.user, study), ending)


@require_safe
@for_readers
def experiment_data(request: AppRequest, scope: Scope, name: str, ending: str) -> HttpResponseBase:
    """The same of those runs of an experiment that the person may know of."""
    table = _table(name, ending)
    if table.of_study:
        raise Http404
    return _answer(request, table, run_contents(scope.visible), ending)


def _table(name: str, ending: str) -> DataTable:
    if name not in DATA_TABLES or ending not in DATA_FORMATS:
        raise Http404
    return DATA_TABLES[name]


def _answer(
    request: AppRequest, table: DataTable, contents: Contents, ending: str
) -> HttpResponseBase:
    if table.has_judgements:
        items = StudyItem.objects.filter(run__in=contents.runs.order_by().values("pk"))
        record_unblindings(user=request.user, items=items, reason=f"table of {table.name}")
    kind, rows = DATA_FORMATS[ending], table.rows(contents)
    return attachment(
        lambda file: kind.write(file, table.columns, rows),
        f"{table.name}.{ending}",
        kind.content_type,
    )
