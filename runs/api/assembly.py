"""The API as a whole: what holds for every endpoint, and its description."""

import logging
from collections.abc import Callable
from functools import cache, wraps
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
from ninja.openapi.schema import REF_TEMPLATE, OpenAPISchema
from ninja.operation import Operation
from ninja.renderers import BaseRenderer
from pydantic_core import to_json

from runs.api.authentication import Bearer
from runs.api.bodies import BoundedParser
from runs.api.idempotency import HEADER, LONGEST_KEY
from runs.api.problems import (
    MEDIA_TYPE,
    FieldProblem,
    Problem,
    ProblemBody,
    field_errors,
    forbidden,
    invalid,
)
from runs.storage.file_storage import RETRY_AFTER_S, Outage, outage

logger = logging.getLogger("django.request")

ALWAYS = {
    401: "No token, or one that is unknown, expired or revoked",
    403: "The token lacks the scope, or its owner the permission",
    422: "Something in the request is wrong; `errors` names the fields",
    429: "The token's minute is used up; `Retry-After` says how long to wait",
}
WITH_PATH = {404: "Nothing of this name that the caller may see"}
WITH_BODY = {
    400: "The body is no JSON that can be read",
    413: "The body is too long",
    415: "The body has another media type",
}
HEADERS = (
    (202, "Location", "Where the work can be watched"),
    (401, "WWW-Authenticate", "How to authenticate: Bearer"),
    (429, "Retry-After", "Seconds until the next minute"),
)
OF_POST = {409: "It cannot be done as things stand"}


class Description(OpenAPISchema):
    """What each endpoint says of itself, and what all of them have in common."""

    def __init__(self, api: NinjaAPI, path_prefix: str) -> None:
        super().__init__(api, path_prefix)
        for model in (ProblemBody, FieldProblem):
            schema = model.model_json_schema(ref_template=REF_TEMPLATE)
            schema.pop("$defs", None)
            self.schemas.setdefault(model.__name__, schema)

    def add_schema_definitions(self, definitions: dict[str, Any]) -> None:
        """Take these schemas in.

        Raises:
            ValueError: two schemas have one name, so that one would be described by the other.
        """
        for name, schema in definitions.items():
            known = self.schemas.get(name, schema)
            if known.get("properties", {}).keys() != schema.get("properties", {}).keys():
                raise ValueError(f"two schemas of the API are called {name}")
        super().add_schema_definitions(definitions)

    def operation_details(self, operation: Operation) -> dict[str, Any]:
        details: dict[str, Any] = super().operation_details(operation)
        is_post = "POST" in operation.methods
        errors = {400: "The address cannot be read", **ALWAYS}
        errors |= WITH_PATH if "{" in operation.path else {}
        errors |= WITH_BODY if "requestBody" in details else {}
        errors |= OF_POST if is_post else {}
        for status, words in errors.items():
            details["responses"].setdefault(status, problem_answer(words))
        _describe_headers(details["responses"])
        if is_post:
            details["parameters"].append(_key_parameter())
        for auth in operation.auth_callbacks:
            if isinstance(auth, Bearer):
                details["x-scope"] = auth.scope.value
                details["x-permissions"] = list(auth.permissions)
                details["security"] = [{"Bearer": [auth.scope.value]}]
        return details


def problem_answer(words: str) -> dict[str, Any]:
    """An error that an endpoint may answer with, described."""
    schema = {"$ref": REF_TEMPLATE.format(model=ProblemBody.__name__)}
    return {"description": words, "content": {MEDIA_TYPE: {"schema": schema}}}


def _describe_headers(responses: dict[int, Any]) -> None:
    for status, name, words in HEADERS:
        if status in responses:
            header = {"description": words, "schema": {"type": "string"}}
            responses[status].setdefault("headers", {})[name] = header


def _key_parameter() -> dict[str, Any]:
    return {
        "in": "header",
        "name": HEADER,
        "required": False,
        "description": "A new word for each request: sent again with it, the request has its "
        "effect once and the same answer.",
        "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY},
    }


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
            self.add_exception_handler(kind, _problem_answer)

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> Any:
        """The description of every endpoint, as OpenAPI 3.1."""
        if path_prefix is None:
            path_prefix = self.get_root_path(path_params or {})
        return _described(self, path_prefix)

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """An endpoint is called as its function."""
        return operation.view_func.__name__

    def addresses(self) -> list[URLPattern]:
        """Every address of the API, the last of which answers for those that are none."""
        patterns = [found for found in self.urls[0] if isinstance(found, URLPattern)]
        for pattern in patterns:
            pattern.callback = _guarded(pattern.callback)
        return [*patterns, re_path("", _guarded(_nowhere), name="nowhere")]


@cache
def _described(api: Api, path_prefix: str) -> Description:
    """Made once: it takes half a second, and nothing changes it."""
    return Description(api, path_prefix)


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
                response = _nowhere()
        if response.status_code == 405 and not response.get("Content-Type", "").endswith("json"):
            allowed = response.get("Allow", "")
            response = Problem(
                405, f"Here you can ask by {allowed}.", headers={"Allow": allowed}
            ).response()
        response.setdefault("Cache-Control", "no-store")
        return response

    return login_not_required(csrf_exempt(guarded))


def _check_address(request: HttpRequest) -> None:
    said = (text for name, values in request.GET.lists() for text in (name, *map(str, values)))
    if "\0" in request.path or any("\0" in text for text in said):
        raise Problem(400, "The address holds a NUL character.", kind="malformed")


def _nowhere(*_request: HttpRequest) -> HttpResponse:
    return Problem(404, "There is nothing of this name that you may see.").response()


def _problem_answer(request: HttpRequest, error: Any) -> HttpResponse:
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
            return _nowhere()
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
