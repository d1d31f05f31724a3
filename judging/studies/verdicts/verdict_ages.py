"""The age of its run that every reference verdict keeps, worked out anew."""

from __future__ import annotations

from typing import Any

from django.db import connections
from django.db.models import F, OuterRef, Subquery

from judging.models import ReferenceVerdict
from runs.models import Run

AT_ONCE = 2_000
"""Verdicts that are changed in one transaction, so that nobody waits long for one of them."""


def date_verdicts(using: str = "default", **_: Any) -> None:
    """Give each verdict its run's `created_at` where it has another or none.

    Called after every `migrate`: an older version, at work beside this one, stores none.
    """
    if not _has_ages(using):
        return  # migrated back to before there were any
    verdicts = ReferenceVerdict.objects.using(using)
    wrong = verdicts.exclude(run_created_at=F("run__created_at")).order_by()
    created_at = Run.objects.filter(pk=OuterRef("run")).order_by().values("created_at")
    keys = list(wrong.values_list("pk", flat=True))
    for start in range(0, len(keys), AT_ONCE):
        some = verdicts.filter(pk__in=keys[start : start + AT_ONCE])
        some.update(run_created_at=Subquery(created_at))


def _has_ages(using: str) -> bool:
    database, table = connections[using], ReferenceVerdict._meta.db_table
    if table not in database.introspection.table_names():
        return False
    with database.cursor() as cursor:
        columns = database.introspection.get_table_description(cursor, table)
    return "run_created_at" in {column.name for column in columns}
