"""Rows that keep their run's `created_at`, so that lists of runs are read in order without runs."""

from __future__ import annotations

from typing import Any

from django.db import connections
from django.db.models import F, OuterRef, Subquery

from judging.models import ReferenceVerdict, StudyItem
from runs.models import Run

KEEP_AGES = ReferenceVerdict, StudyItem
AT_ONCE = 2_000
"""Rows that are changed in one transaction, so that nobody waits long for one of them."""


def date_rows(using: str = "default", **_options: Any) -> None:
    """Give each verdict and item its run's `created_at` where it has another or none.

    Called after every `migrate`: an older version, at work beside this one, stores none.
    """
    for model in KEEP_AGES:
        if _has_ages(using, model._meta.db_table):  # not migrated back to before there were any
            _date(model.objects.using(using))


def _date(rows: Any) -> None:
    wrong = rows.exclude(run_created_at=F("run__created_at")).order_by()
    created_at = Run.objects.filter(pk=OuterRef("run")).order_by().values("created_at")
    keys = list(wrong.values_list("pk", flat=True))
    for start in range(0, len(keys), AT_ONCE):
        some = rows.filter(pk__in=keys[start : start + AT_ONCE])
        some.update(run_created_at=Subquery(created_at))


def _has_ages(using: str, table: str) -> bool:
    database = connections[using]
    if table not in database.introspection.table_names():
        return False
    with database.cursor() as cursor:
        columns = database.introspection.get_table_description(cursor, table)
    return "run_created_at" in {column.name for column in columns}
