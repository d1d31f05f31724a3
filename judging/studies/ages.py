"""Rows that keep their run's `created_at`, so that lists of runs are read in order without runs."""

from typing import Any

from django.apps import apps as current_apps
from django.apps.registry import Apps
from django.core.exceptions import FieldDoesNotExist
from django.db.models import F, OuterRef, Subquery

from webagent.measures import batched

KEEP_AGES = "ReferenceVerdict", "StudyItem"
AT_ONCE = 2_000
"""Rows that are changed in one transaction, so that nobody waits long for one of them."""


def date_rows(using: str = "default", apps: Apps = current_apps, **_options: Any) -> None:
    """Give each verdict and item its run's `created_at` where it has another or none.

    Called after every `migrate`: an older version, at work beside this one, stores none.

    Args:
        apps: the models as the database has them; of before there were any ages, too.
    """
    for name in KEEP_AGES:
        try:
            model: Any = apps.get_model("judging", name)
            model._meta.get_field("run_created_at")
        except (LookupError, FieldDoesNotExist):
            continue
        _date(model.objects.using(using), apps.get_model("runs", "Run").objects.using(using))


def _date(rows: Any, runs: Any) -> None:
    wrong = rows.exclude(run_created_at=F("run__created_at")).order_by()
    created_at = runs.filter(pk=OuterRef("run")).order_by().values("created_at")
    keys = list(wrong.values_list("pk", flat=True))
    for some in batched(keys, AT_ONCE):
        rows.filter(pk__in=some).update(run_created_at=Subquery(created_at))
