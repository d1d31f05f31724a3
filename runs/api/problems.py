"""Errors of the API: one shape (RFC 9457) that says what is wrong, in which field, and why."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import Model, QuerySet
from django.forms import BaseForm
from django.http import HttpResponse
from pydantic import BaseModel, Field

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:crosscheck:problem:"
LONGEST_REASON = 500
Row = TypeVar("Row", bound=Model)


class FieldProblem(BaseModel):
    """One thing that is wrong with a request."""

    field: str = Field(description="Where: a dotted path, such as `body.steps.0.action`.")
    reason: str


class ProblemBody(BaseModel):
    """Why a request was not granted."""

    type: str = Field(description="Names the kind of problem; never changes its meaning.")
    title: str
    status: int
    detail: str = Field(description="What happened here, and what to do.")
    errors: list[FieldProblem] = Field(description="What is wrong, field by field; may be empty.")


class Problem(Exception):
    """Ends a request with an error.

    Args:
        status: the HTTP status.
        detail: one sentence to the caller.
        kind: a word for programs; by default that of the status.
        errors: pairs of field and reason.
        headers: go with the answer.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        kind: str | None = None,
        errors: Iterable[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = HTTPStatus(status)
        self.kind = kind or self.status.phrase.lower().replace(" ", "-")
        self.detail = detail
        self.errors = [
            FieldProblem(field=field, reason=str(reason)[:LONGEST_REASON])
            for field, reason in errors
        ]
        self.headers = dict(headers or {})

    def response(self) -> HttpResponse:
        """The answer that says so."""
        body = ProblemBody(
            type=f"{TYPE_PREFIX}{self.kind}",
            title=self.status.phrase,
            status=self.status.value,
            detail=self.detail,
            errors=self.errors,
        )
        headers = {"Cache-Control": "no-store", **self.headers}
        return HttpResponse(
            body.model_dump_json(), status=self.status, content_type=MEDIA_TYPE, headers=headers
        )


def not_found(what: str) -> Problem:
    """Nothing of the name that the caller may see: whether there is one is not said."""
    return Problem(404, f"There is no {what} of this name that you may see.")


def first_of(rows: QuerySet[Row], what: str) -> Row:
    """The first of these rows, which the caller may see. Raises `not_found` where there is none."""
    row = rows.first()
    if row is None:
        raise not_found(what)
    return row


def forbidden() -> Problem:
    """The owner of the token is not allowed what is asked."""
    return Problem(403, "The token's owner may not do this.", kind="permission-missing")


def invalid(*errors: tuple[str, str], detail: str = "") -> Problem:
    """The request is understood and wrong, in these fields."""
    return Problem(
        422,
        detail or "Something in the request is wrong; see errors.",
        kind="invalid",
        errors=errors,
    )


def form_errors(form: BaseForm) -> list[tuple[str, str]]:
    """What is wrong with a form whose fields have the names of the body's."""
    return [
        ("body" if name == NON_FIELD_ERRORS else f"body.{name}", str(reason))
        for name, reasons in form.errors.items()
        for reason in reasons
    ]


def field_errors(errors: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Pydantic's errors as pairs of dotted path and reason."""
    return [(".".join(map(str, error["loc"])), error["msg"]) for error in errors]
