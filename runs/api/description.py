"""The description of the API (OpenAPI 3.1), with the errors and headers that endpoints share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ninja.openapi.schema import REF_TEMPLATE, OpenAPISchema
from ninja.operation import Operation

from runs.api.authentication import Bearer
from runs.api.idempotency import HEADER, LONGEST_KEY
from runs.api.problems import MEDIA_TYPE, FieldProblem, ProblemBody

if TYPE_CHECKING:
    from ninja import NinjaAPI

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
