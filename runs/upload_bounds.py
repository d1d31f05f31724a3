"""The limit on what may be sent to the server at all."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler

FORM_BYTES = 1 << 20
"""Room for the other fields of the form beside the file."""


class BoundedUploadHandler(FileUploadHandler):
    """Stands before the handlers that keep files, and refuses what is too large."""

    def handle_raw_input(
        self,
        input_data: Any,
        META: dict[str, str],
        content_length: int,
        boundary: str,
        encoding: str | None = None,
    ) -> None:
        """Refuse by the size that the client states, before anything is written."""
        if content_length > settings.ENV.IMPORT_MAX_UPLOAD_BYTES + FORM_BYTES:
            raise RequestDataTooBig("The file is larger than IMPORT_MAX_UPLOAD_BYTES.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Pass everything on: no more than the stated size is ever read."""
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the next handler."""
