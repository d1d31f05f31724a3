"""Bodies of requests: how large they may be and how long they may rest; JSON that every database
can keep; large ones are written to disk.

Bodies of answers: filled from the rows that they show.
"""

import hashlib
import json
import re
from typing import Annotated, Any, NoReturn, TypeVar

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest, QueryDict, UnreadablePostError
from django.http.multipartparser import MultiPartParser
from django.utils.datastructures import MultiValueDict
from ninja.parser import Parser
from pydantic import BaseModel, Field

from runs.api.problems import Problem

MOST_OF_GOAL = 10_000
"""So much of a goal stands in a list, which has up to 200 of them."""
GOAL = f"In lists its first {MOST_OF_GOAL:,} characters."
Name = Annotated[str, Field(max_length=200)]
"""A name or a choice that a body holds."""
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
        others = [handler for handler in self.request.upload_handlers if handler is not self]
        whole: Any = WholeBody(input_data, content_length)
        try:
            return MultiPartParser(META, whole, others, encoding).parse()
        except BaseException:
            for handler in others:
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


SUSPECT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
"""Escapes of what no text may hold: NUL, and halves of characters."""


class BoundedParser(Parser):
    """Reads a JSON body within the limit of the settings."""

    def parse_body(self, request: HttpRequest) -> Any:
        if request.content_type != "application/json":
            raise Problem(415, "Send the body as application/json.")
        return read_json(body_of(request))


def body_of(request: HttpRequest) -> bytes:
    """The whole body, read once.

    Raises:
        Problem: 413 where it is longer than the settings allow.
    """
    kept: bytes | None = getattr(request, "api_body", None)
    if kept is None:
        kept = request.read(check_length(request))
        # The second is where `request.body` looks first: its limit is for forms of pages.
        vars(request).update(api_body=kept, _body=kept)
    return kept


def check_length(request: HttpRequest, limit: int | None = None) -> int:
    """How many bytes the request says it has.

    Raises:
        Problem: 413 where that is more than the limit, by default that of the settings.
    """
    most = settings.ENV.API_MAX_BODY_BYTES if limit is None else limit
    length = _content_length(request)
    if length > most:
        raise Problem(
            413, f"The body has {length} bytes; at most {most} are taken.", kind="too-large"
        )
    return length


def _content_length(request: HttpRequest) -> int:
    try:
        return max(0, int(request.META.get("CONTENT_LENGTH") or 0))
    except ValueError:
        return 0


def read_json(body: bytes) -> Any:
    """The value of a JSON text.

    Raises:
        Problem: 400 where it is none, or holds what cannot be kept.
    """
    try:
        value = json.loads(body.decode(), parse_constant=_refuse_constant)
        if SUSPECT.search(body):
            # What is NUL or half a character only in the eyes of the pattern passes here.
            text = json.dumps(value, ensure_ascii=False)
            text.encode()
            if "\\u0000" in text.replace("\\\\", ""):
                raise ValueError("text with a NUL character")
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise Problem(
            400,
            "The body is no JSON that can be read.",
            kind="malformed",
            errors=[("body", reason)],
        ) from None
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def request_hash(request: HttpRequest) -> str:
    """What two sendings of one request have in common."""
    digest = hashlib.sha256()
    for part in (request.method or "", request.get_full_path(), request.content_type or ""):
        digest.update(part.encode() + b"\n")
    digest.update(body_of(request))
    return digest.hexdigest()


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


Out = TypeVar("Out", bound=BaseModel)


def filled(form: type[Out], row: object, **given: Any) -> Out:
    """The form with what is given; all its other fields by their names from the row."""
    names = form.model_fields.keys() - given.keys()
    return form(**{name: getattr(row, name) for name in names}, **given)
