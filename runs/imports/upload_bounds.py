"""The limits on what may be sent to the server at all, and on how long that may rest."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler
from django.http import QueryDict, UnreadablePostError
from django.http.multipartparser import MultiPartParser
from django.utils.datastructures import MultiValueDict

FORM_BYTES = 1 << 20
"""Room for the other fields of the form beside the file."""


class WholeBody:
    """A request's body that ends where it says it does, or breaks off with an error.

    Without this what was cut off on its way would pass for all of it.
    """

    def __init__(self, body: Any, length: int) -> None:
        self._body = body
        self._left = length

    def read(self, size: int) -> bytes:
        """Up to so many bytes.

        Raises:
            UnreadablePostError: the sender is gone, or has sent nothing for too long.
        """
        chunk: bytes = self._body.read(size)
        self._left -= len(chunk)
        if size and not chunk and self._left > 0:
            raise UnreadablePostError("The body is shorter than it says.")
        return chunk


class BoundedUploadHandler(FileUploadHandler):
    """Stands before the handlers that keep files, and refuses what is too large or cut off."""

    def handle_raw_input(
        self,
        input_data: Any,
        META: dict[str, Any],
        content_length: int,
        boundary: str,
        encoding: str | None = None,
    ) -> tuple[QueryDict, MultiValueDict[str, Any]]:
        """Fields and files of the form, once all of it is here.

        Raises:
            RequestDataTooBig: by the size that the client states, before anything is written.
            UnreadablePostError: it broke off; what was written of it is deleted.
        """
        if content_length > settings.ENV.IMPORT_MAX_UPLOAD_BYTES + FORM_BYTES:
            raise RequestDataTooBig("The file is larger than IMPORT_MAX_UPLOAD_BYTES.")
        set_read_timeout(META)
        assert self.request is not None  # noqa: S101 (Django gives it to every handler)
        keepers = [handler for handler in self.request.upload_handlers if handler is not self]
        whole: Any = WholeBody(input_data, content_length)
        try:
            return MultiPartParser(META, whole, keepers, encoding).parse()
        except BaseException:
            for handler in keepers:
                handler.upload_interrupted()
            raise

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Pass everything on."""
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the next handler."""


def set_read_timeout(META: dict[str, Any]) -> None:
    """Let nobody who sends nothing hold one of the few threads that answer requests."""
    if connection := META.get("gunicorn.socket"):
        connection.settimeout(settings.ENV.UPLOAD_PATIENCE_S)
