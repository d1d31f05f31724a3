"""What a check of integrity finds, for tests that plant something or kill somebody."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import pytest
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Model

from runs.models.extension import Invariant, Violation
from runs.operations.integrity import all_invariants, violations


def everything_holds() -> None:
    """Fails with every violation there is."""
    _fail_with(violations())


def rows_hold(*models: type[Model]) -> None:
    """Fails with every row of these models (of all if none is named) that is not as it must be."""
    labels = {model._meta.label for model in models}
    _fail_with(broken for broken in _broken_rows() if not labels or broken.model in labels)


def _fail_with(told: Iterable[Violation]) -> None:
    if words := [str(broken) for broken in told]:
        pytest.fail("\n".join(words))


def found(row: Model) -> list[str]:
    """What is wrong with this row; fails if anything is with another."""
    told = list(_broken_rows())
    assert {(broken.model, broken.key) for broken in told} <= {(row._meta.label, str(row.pk))}
    return [broken.why for broken in told]


def plant(row: Model, **columns: Any) -> list[str]:
    """Write what no service would write, past all of them; returns what is found of it."""
    type(row)._base_manager.filter(pk=row.pk).update(**columns)
    return found(row)


def _broken_rows() -> Iterator[Violation]:
    """All of them: only of an invariant that finds rows the query is built once more."""
    with connection.cursor() as cursor:
        for invariant, statement, values in _statements():
            cursor.execute(statement, values)
            if cursor.fetchall():
                yield from invariant.violations()


@cache
def _statements() -> list[tuple[Invariant, str, Any]]:
    """Each invariant with what it asks the database, which is always the same."""
    found = []
    for invariant in all_invariants():
        try:
            found.append((invariant, *invariant.broken().order_by().query.sql_with_params()))
        except EmptyResultSet:
            continue  # no row can break it
    return found
