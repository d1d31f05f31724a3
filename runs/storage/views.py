"""Files of a run, to those who may see them."""

from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.http import (
    FileResponse,
    Http404,
    HttpResponse,
    HttpResponseNotModified,
    HttpResponseRedirect,
)
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.http import parse_etags
from django.views.decorators.http import require_safe

from runs.interface.requests import AppRequest
from runs.models import Attachment, Blob, Run, Step
from runs.models.runs.run import hides_something
from runs.storage.blobs import (
    UNKNOWN_TYPE,
    MissingBlobError,
    is_text,
    open_blob,
    read_blob,
    storage_name,
)
from runs.storage.file_storage import blob_storage

SHOWN_PICTURES = {"image/png", "image/jpeg", "image/webp", "image/gif"}
ADDRESS_HOLDS_S = 300
"""How long an address in the bucket works; browsers use it again for half of that."""
OF_ADDRESSES = f"private, max-age={ADDRESS_HOLDS_S // 2}"
BLIND_ROLES = ("goal_image",)
"""Attachments that a person who is blinded to the run may see: what the agent was told."""


@require_safe
def run_blob(request: AppRequest, run_id: UUID, sha256: str) -> HttpResponseBase:
    """One file of a run: pictures as pictures, text as plain text, all else as a download.

    Whatever a trajectory claims a file to be, nothing of it is ever run or laid out: no
    sniffing, no markup, and a sandbox around it.
    """
    run = get_object_or_404(Run.objects.visible_to(request.user, [run_id]).only("id"))
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
    if response.status_code == 302:
        response["Cache-Control"] = OF_ADDRESSES
        return response
    response["ETag"] = etag
    response["Cache-Control"] = "private, max-age=31536000, immutable"
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _answer(blob: Blob) -> HttpResponseBase:
    if address := _address(blob):
        return HttpResponseRedirect(address)
    if blob.media_type in SHOWN_PICTURES:
        return HttpResponse(read_blob(blob), content_type=blob.media_type)
    if is_text(blob.media_type):
        return HttpResponse(read_blob(blob), content_type="text/plain; charset=utf-8")
    return FileResponse(
        open_blob(blob), as_attachment=True, filename=blob.pk[:12], content_type=UNKNOWN_TYPE
    )


def _address(blob: Blob) -> str | None:
    """Where the browser may fetch it from the store itself; None if only through us.

    Pictures are named as what their bytes are, and everything else is a download: no text or
    markup is ever laid out under the bucket's address.
    """
    if settings.ENV.BLOB_SERVING != "presigned" or blob.compressed:
        return None
    is_picture = blob.media_type in SHOWN_PICTURES
    if is_text(blob.media_type):
        return None
    disposition = "inline" if is_picture else f'attachment; filename="{blob.pk[:12]}"'
    return blob_storage().address(
        storage_name(blob),
        seconds=ADDRESS_HOLDS_S,
        headers={
            "Content-Type": blob.media_type if is_picture else UNKNOWN_TYPE,
            "Content-Disposition": disposition,
            "Cache-Control": "private, max-age=31536000, immutable",
        },
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
