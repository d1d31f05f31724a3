"""The API as a whole: what holds for every endpoint, and its description."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, re_path
from django.utils import translation
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.renderers import BaseRenderer
from pydantic_core import to_json

from runs.api.bodies import BoundedParser
from runs.api.description import Description
from runs.api.problems import Problem, field_errors, forbidden, invalid
from runs.storage.outages import RETRY_AFTER_S, Outage, outage

logger = logging.getLogger("django.request")
View = Callable[..., HttpResponseBase]


class JsonRenderer(BaseRenderer):
    """Writes what endpoints return; what is no number in JSON (nan, infinity) as null."""

    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return to_json(data, inf_nan_mode="null")


class Api(NinjaAPI):
    """Endpoints behind tokens, whose errors all have one shape."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            docs_url=None,
            openapi_url="/openapi.json",
            parser=BoundedParser(),
            renderer=JsonRenderer(),
            **options,
        )
        for kind in (Problem, ValidationError, HttpError, Http404, Exception):
            self.add_exception_handler(kind, _told)

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> Any:
        """The description of every endpoint, as OpenAPI 3.1."""
        if path_prefix is None:
            path_prefix = self.get_root_path(path_params or {})
        return Description(self, path_prefix)

    def addresses(self) -> list[URLPattern]:
        """Every address of the API, the last of which answers for those that are none."""
        patterns = [found for found in self.urls[0] if isinstance(found, URLPattern)]
        for pattern in patterns:
            pattern.callback = _guarded(pattern.callback)
        return [*patterns, re_path("", _guarded(_nowhere), name="nowhere")]


def _guarded(view: View) -> View:
    """The view for whoever asks, in English, with errors that were not its own in our shape."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        with translation.override("en"):
            try:
                _check_address(request)
                response = view(request, *args, **kwargs)
            except Problem as problem:
                response = problem.response()
            except Http404:
                response = _unknown_address()
        if response.status_code == 405 and not response.get("Content-Type", "").endswith("json"):
            allowed = response.get("Allow", "")
            response = Problem(
                405, f"Here you can ask by {allowed}.", headers={"Allow": allowed}
            ).response()
        response.setdefault("Cache-Control", "no-store")
        return response

    return login_not_required(csrf_exempt(guarded))


def _check_address(request: HttpRequest) -> None:
    if "\0" in request.path or any(
        "\0" in part for pair in request.GET.lists() for part in _flat(pair)
    ):
        raise Problem(400, "The address holds a NUL character.", kind="malformed")


def _flat(pair: tuple[str, list[Any]]) -> list[str]:
    return [pair[0], *map(str, pair[1])]


def _nowhere(_request: HttpRequest) -> HttpResponse:
    return _unknown_address()


def _unknown_address() -> HttpResponse:
    return Problem(404, "There is nothing of this name that you may see.").response()


def _told(request: HttpRequest, error: Any) -> HttpResponse:
    """The answer that says what an endpoint, or what stands before it, raised."""
    match error:
        case Problem():
            problem = error
        case ValidationError():
            problem = invalid(*field_errors(map(_without_name, error.errors)))
        case HttpError():
            # A body that cannot be read comes wrapped in one.
            why = error.__cause__
            problem = why if isinstance(why, Problem) else Problem(error.status_code, str(error))
        case Http404():
            return _unknown_address()
        case RequestDataTooBig():
            problem = Problem(413, "The body is too long.", kind="too-large")
        case SuspiciousOperation():
            problem = Problem(400, "The request cannot be read.", kind="malformed")
        case PermissionDenied():
            problem = forbidden()
        case _:
            problem = _of_ours(error)
            logger.error("%s: %s", problem.status.phrase, request.path, exc_info=error)
    return problem.response()


def _of_ours(error: Exception) -> Problem:
    """What is told of an error that whoever asked has no part in."""
    match outage(error):
        case None:
            return Problem(500, "Something broke here; it is in the log.")
        case Outage.ROOM:
            return Problem(507, "There is no room to keep it; nothing of it was stored.")
        case Outage.DATABASE | Outage.FILES:
            again = {"Retry-After": str(RETRY_AFTER_S)}
            return Problem(503, "What it needs cannot be reached; send it again.", headers=again)


def _without_name(error: dict[str, Any]) -> dict[str, Any]:
    """The error without what our function calls the body, which callers know no name of."""
    where = tuple(error["loc"])
    return {**error, "loc": (where[0], *where[2:]) if where[0] == "body" else where}
