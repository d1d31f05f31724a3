"""Queries that are worked out once find what querysets find, and are planned once."""

from __future__ import annotations

import pytest
from django.db import DataError, connection, transaction

from runs.models import Run, Step
from runs.models.prepared import Prepared, key, number, text
from tests.runs.factories import make_run

pytestmark = pytest.mark.django_db


def test_rows_come_as_a_queryset_makes_them() -> None:
    run, other = make_run(steps=1), make_run(steps=1)
    asked = Prepared(lambda: Run.objects.select_related("task").filter(pk=key("run")))
    names = Prepared(lambda: Run.objects.filter(pk=key("run")).values_list("goal", flat=True))
    for each in (run, other):
        [found] = asked.all(run=each.pk)
        [known] = Run.objects.filter(pk=each.pk)
        assert (
            vars(found).items() >= {k: v for k, v in vars(known).items() if k != "_state"}.items()
        )
        assert found._state.fields_cache["task"] == each.task
        assert names.all(run=each.pk) == [each.goal]


def test_a_question_is_planned_once_a_connection() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite keeps what it has read by itself")
    asked = Prepared(lambda: Run.objects.filter(goal=text("goal")).values_list("pk", flat=True))
    before = _kept()
    for goal in ("one", "another", "a third'; --"):
        assert asked.all(goal=goal) == []
    assert _kept() == before + 1


def test_what_is_kept_of_statements_goes_with_the_connection_and_has_a_bound() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite keeps what it has read by itself")
    from webagent.postgresql.base import KEPT_CURSORS

    asked = Prepared(lambda: Run.objects.filter(goal=text("goal")).values_list("goal", flat=True))
    with pytest.raises(DataError), transaction.atomic():
        asked.all(goal="a\0b")
    other = connection.copy()
    try:
        for number_ in range(KEPT_CURSORS + 1):
            cursor = other.planned_cursor(f"SELECT {number_}, %s")  # type: ignore[attr-defined]
            for given in ("one", "another"):
                cursor.execute(f"SELECT {number_}, %s", [given])
                assert cursor.fetchall() == [(number_, given)]
        with other.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM pg_prepared_statements")
            assert cursor.fetchall() == [(1,)]
        other.close()
        again = other.planned_cursor("SELECT 0, %s")  # type: ignore[attr-defined]
        again.execute("SELECT 0, %s", [None])
        assert again.fetchall() == [(0, None)]
    finally:
        other.close()
    goal = make_run(steps=1).goal
    assert asked.all(goal=goal) == [goal]


@pytest.mark.parametrize("value", [2**63, -(10**40)])
def test_by_a_number_that_no_column_holds_nothing_is_found(value: int) -> None:
    make_run(steps=1)
    asked = Prepared(lambda: Step.objects.filter(index=number("index")).values_list("pk"))
    assert asked.all(index=0)
    assert asked.all(index=value) == []


def _kept() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM pg_prepared_statements")
        [(n,)] = cursor.fetchall()
    return int(n)
