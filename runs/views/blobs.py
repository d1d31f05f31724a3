"""Files of a run, to those who may see them."""

from uuid import UUID

from django.db.models import Q
from django.http import FileResponse, Http404, HttpResponse, HttpResponseNotModified
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.http import parse_etags
from django.views.decorators.http import require_safe

from runs.blobs import TEXT_TYPES, MissingBlobError, open_blob, read_blob
from runs.models import Attachment, Blob, Run, Step
from runs.views.fragments import AppRequest
from runs.visibility import hides_something

SHOWN_PICTURES = {"image/png", "image/jpeg", "image/webp", "image/gif"}
BLIND_ROLES = ("goal_image",)
"""Attachments that a person who is blind on the run may see: what the agent was told."""


@require_safe
def run_blob(request: AppRequest, run_id: UUID, sha256: str) -> HttpResponseBase:
    """One file of a run: pictures as pictures, text as plain text, all else as a download.

    Whatever a trajectory claims a file to be, nothing of it is ever run or laid out: no
    sniffing, no markup, and a sandbox around it.
    """
    run = get_object_or_404(
        Run.objects.shown_to(request.user).only("id"),
        pk=run_id,
    )
    blob = get_object_or_404(Blob, pk=sha256)
    if not _belongs(blob, run):
        raise Http404
    etag = f'"{sha256}"'
    if etag in parse_etags(request.headers.get("If-None-Match", "")):
        response: HttpResponseBase = HttpResponseNotModified()
    else:
        try:
            response = _answer(blob)
        except MissingBlobError as error:
            raise Http404 from error
    response["ETag"] = etag
    response["Cache-Control"] = "private, max-age=31536000, immutable"
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _answer(blob: Blob) -> HttpResponseBase:
    if blob.media_type in SHOWN_PICTURES:
        return HttpResponse(read_blob(blob), content_type=blob.media_type)
    if blob.media_type.startswith("text/") or blob.media_type in TEXT_TYPES:
        return HttpResponse(read_blob(blob), content_type="text/plain; charset=utf-8")
    return FileResponse(
        open_blob(blob),
        as_attachment=True,
        filename=blob.pk[:12],
        content_type="application/octet-stream",
    )


def _belongs(blob: Blob, run: Run) -> bool:
    """Whether the run holds the blob in a role that the viewer of this run may see."""
    pictures = Blob.objects.filter(Q(pk=blob.pk) | Q(thumbnail=blob)).values("pk")
    on_timeline = (
        Q(screenshot__in=pictures)
        | Q(marked_screenshot__in=pictures)
        | Q(after_screenshot__in=pictures)
        | Q(tree=blob)
        | Q(after_tree=blob)
    )
    if Step.objects.filter(on_timeline, run=run).exists():
        return True
    attachments = Attachment.objects.filter(run=run, blob__in=pictures)
    if hides_something(run):
        attachments = attachments.filter(role__in=BLIND_ROLES)
    return attachments.exists()
