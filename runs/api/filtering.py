"""Filters of lists: those of the pages, by the same names, and no others."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from django_filters import FilterSet
from pydantic import BaseModel, Field

from runs.api.problems import invalid
from runs.interface.filter_controls import MAX_CHARS, MAX_VALUES

Word = Annotated[str, Field(max_length=MAX_CHARS)]
Words = Annotated[list[Word], Field(max_length=MAX_VALUES)]


def known_only(request: HttpRequest, *models: type[BaseModel]) -> None:
    """Refuse what a query holds beside the fields of these models: a typing error filters nothing.

    Raises:
        Problem: 422, naming each.
    """
    known = {name for model in models for name in model.model_fields}
    if unknown := sorted(set(request.GET) - known):
        reason = f"is unknown here; there are {', '.join(sorted(known))}"
        raise invalid(*((f"query.{name[:100]}", reason) for name in unknown[:10]))


def filtered(found: FilterSet) -> Any:
    """The rows that a set of filters lets through.

    Raises:
        Problem: 422 where a value makes no sense.
    """
    if not found.is_valid():
        raise invalid(
            *((f"query.{name}", reason) for name, why in found.errors.items() for reason in why)
        )
    return found.qs
