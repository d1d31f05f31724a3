"""Large bodies, written to the disk as they come."""

from __future__ import annotations

import hashlib

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.http import HttpRequest

from runs.api.bodies import check_length
from runs.api.problems import Problem
from runs.imports.upload_bounds import set_read_timeout

CHUNK = 1 << 20
TYPES = ("application/zip", "application/x-zip-compressed", "application/octet-stream")


def spooled(request: HttpRequest, name: str) -> TemporaryUploadedFile:
    """The body as a file that goes when nobody keeps it.

    Raises:
        Problem: 413 where it is larger than an upload may be, 415 where it is no archive, 400
            where it ends too early.
    """
    if request.content_type not in TYPES:
        raise Problem(415, "Send the body as application/zip.")
    set_read_timeout(request.META)
    length = check_length(request, settings.ENV.IMPORT_MAX_UPLOAD_BYTES)
    file = TemporaryUploadedFile(name, "application/zip", length, None)
    digest = hashlib.sha256()
    left = length
    while left and (chunk := request.read(min(CHUNK, left))):
        file.write(chunk)
        digest.update(chunk)
        left -= len(chunk)
    if left:
        raise Problem(400, "The body is shorter than it says.", kind="malformed")
    file.flush()
    file.seek(0)
    # Stands for the body where two sendings are compared.
    request.api_body = digest.digest()  # type: ignore[attr-defined]  # as `body_of` keeps it
    return file
