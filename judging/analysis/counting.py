"""Counting rows of the database by what they share."""

from collections import Counter
from typing import Any

from django.db.models import Count, QuerySet


def tally(rows: QuerySet[Any, Any], *columns: str) -> Counter[Any]:
    """How many rows have the same values in these columns, by value or tuple of values.

    One query; blindness is the caller's.
    """
    found = rows.order_by().values_list(*columns).annotate(n_alike=Count("*"))
    counts: Counter[Any] = Counter()
    for *values, n in found:
        counts[tuple(values) if len(values) > 1 else values[0]] += n
    return counts
