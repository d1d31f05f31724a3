"""Pages and filters of long lists. What is added meanwhile moves no page, and filters are those of
the pages, by the same names.
"""

import base64
import binascii
import json
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django_filters import FilterSet
from ninja import Path, Query
from pydantic import BaseModel, Field

from runs.api.problems import invalid
from runs.interface.filters import MAX_CHARS, MAX_VALUES
from webagent.trajectory.values import is_of_a_calendar

LARGEST_PAGE = 200
Row = TypeVar("Row", bound=Model)
Item = TypeVar("Item")


class Page(BaseModel, Generic[Item]):
    """One page of a list."""

    items: list[Item]
    next: str | None = Field(description="The cursor of the next page; null on the last one.")


class Paging(BaseModel):
    """Which page is asked for."""

    cursor: str | None = Field(None, max_length=300, description="`next` of the page before.")
    limit: int = Field(50, ge=1, le=LARGEST_PAGE, description="How many items at most.")


Paged = Annotated[Paging, Query()]
RowId = Annotated[int, Path(ge=1, lt=2**63)]
"""The number of a row in a path."""


def page_of(
    rows: QuerySet[Row],
    paging: Paging,
    *order: str,
    rows_of: Callable[[list[Any]], QuerySet[Row]] | None = None,
) -> tuple[list[Row], str | None]:
    """The rows of a page, and the cursor of the next.

    Args:
        order: one or two fields, all with `-` or none, the last one unique; never a field that
            is hidden from somebody.
        rows_of: reads the rows of a page once their keys are known: to sort a million wide rows
            for a page of them would cost seconds. The last field is the key then.

    Raises:
        Problem: 422 where the cursor is none of this list.
    """
    fields = [name.removeprefix("-") for name in order]
    if paging.cursor:
        rows = rows.filter(_after(rows, fields, paging.cursor, falls=order[0].startswith("-")))
    ordered = rows.order_by(*order)
    if rows_of is not None:
        keys = list(ordered.values_list(*fields)[: paging.limit + 1])
        known = {row.pk: row for row in rows_of([key[-1] for key in keys])}
        # Those that were deleted in between are gone from the page, and the page goes on.
        found = [known[key[-1]] for key in keys[: paging.limit] if key[-1] in known]
    else:
        listed = list(ordered[: paging.limit + 1])
        keys = [tuple(getattr(row, name) for name in fields) for row in listed]
        found = listed[: paging.limit]
    is_last = len(keys) <= paging.limit
    return found, None if is_last else _write(keys[paging.limit - 1])


def _after(rows: QuerySet[Any], fields: list[str], cursor: str, *, falls: bool) -> Q:
    sign = "lt" if falls else "gt"
    values = _read(rows, fields, cursor)
    if len(fields) == 1:
        return Q(**{f"{fields[0]}__{sign}": values[0]})
    first, second = fields
    # The first condition alone is what an index can be searched by.
    return Q(**{f"{first}__{sign}e": values[0]}) & (
        Q(**{f"{first}__{sign}": values[0]}) | Q(**{f"{second}__{sign}": values[1]})
    )


def _write(values: Iterable[Any]) -> str:
    plain = [value.isoformat() if isinstance(value, datetime) else value for value in values]
    written = json.dumps(plain, default=str, separators=(",", ":"))
    return base64.urlsafe_b64encode(written.encode()).decode().rstrip("=")


def _read(rows: QuerySet[Any], fields: list[str], cursor: str) -> list[Any]:
    try:
        written = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        values = json.loads(written)
        if not isinstance(values, list) or len(values) != len(fields):
            raise ValueError("another list")
        return [
            _checked(rows.model._meta.get_field(name), value)
            for name, value in zip(fields, values, strict=True)
        ]
    except (TypeError, ValueError, RecursionError, binascii.Error, ValidationError):
        raise invalid(("query.cursor", "is none of this list")) from None


def _checked(field: Any, value: Any) -> Any:
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise ValueError("no key")
    if isinstance(value, int) and abs(value) >= 2**63:
        raise ValueError("no key")
    key = field.to_python(value)
    if isinstance(key, datetime) and not (key.tzinfo and is_of_a_calendar(key)):
        raise ValueError("no instant")
    return key


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
