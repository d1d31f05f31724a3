"""Downloads of runs, in the native format or as ATIF."""

import tempfile
from collections.abc import Callable
from typing import BinaryIO
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import FileResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from runs.accounts.audit_log import record_entry
from runs.exports.services import ExportFormat, export_for
from runs.interface.requests import AppRequest, needs
from runs.models import Run
from runs.models.audit_log import RUNS_EXPORTED
from runs.storage.links import as_uuid
from webagent.trajectory.blobs import BlobError

MAX_RUNS = 500

may_export = needs("runs.export_run")


@require_safe
@may_export
def run_export(request: AppRequest, run_id: UUID) -> HttpResponseBase:
    """The run as a zip; a blind one for whoever is blinded to it."""
    ended = Run.objects.ended()
    run = get_object_or_404(ended.visible_to(request.user, [run_id]))
    format = _format(request.GET.get("format"))
    name = f"run-{run.pk}.zip" if format is ExportFormat.NATIVE else f"run-{run.pk}-{format}.zip"
    return _download(request, [run.pk], name, format)


@require_POST
@may_export
def run_export_selected(request: AppRequest) -> HttpResponseBase:
    """The runs named by `run` as one zip."""
    ids = [run_id for text in request.POST.getlist("run") if (run_id := as_uuid(text))]
    if not 0 < len(ids) <= MAX_RUNS:
        words = _("At most %(max)d runs at once; these are %(n)d.")
        told = words % {"max": MAX_RUNS, "n": len(ids)} if ids else _("Select at least one run.")
        messages.error(request, told)
        return redirect("runs:run_list")
    format = _format(request.POST.get("format"))
    return _download(request, ids, "runs.zip", format)


def _format(asked: str | None) -> ExportFormat:
    """The format asked for; the native one if it is none."""
    return ExportFormat.ATIF if asked == ExportFormat.ATIF else ExportFormat.NATIVE


def _download(
    request: AppRequest, ids: list[UUID], name: str, format: ExportFormat
) -> HttpResponseBase:
    runs = Run.objects.filter(pk__in=ids)
    try:
        response = attachment(lambda file: export_for(request.user, file, runs, format), name)
    except (BlobError, OSError) as error:
        messages.error(request, _("The export failed: %(why)s") % {"why": error})
        return redirect("runs:run_list")
    about, words = (("run", ids[0]), "") if len(ids) == 1 else (None, f"{len(ids)} runs")
    record_entry(RUNS_EXPORTED, about=about, words=words, after=format)
    return response


def attachment(
    write: Callable[[BinaryIO], object], name: str, content_type: str | None = None
) -> FileResponse:
    """What `write` writes, for the browser to keep; raises what it raises.

    The file has no name in the file system, so nothing is left of it when it has been sent.
    """
    file = tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR)  # noqa: SIM115 (the answer closes it)
    try:
        write(file)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    response = FileResponse(file, as_attachment=True, filename=name, content_type=content_type)
    response["Cache-Control"] = "private, no-store"
    return response
