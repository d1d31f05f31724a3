"""What holds of the rows at any moment, stated so that the database looks for what breaks it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce

ROWS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Violation:
    """One row that is not as it must be."""

    model: str
    key: str
    why: str

    def __str__(self) -> str:
        return f"{self.model} {self.key}: {self.why}"


@dataclass(frozen=True, slots=True)
class Invariant:
    """Something that holds of every row of a model.

    Attributes:
        broken: the rows of which it does not hold, found by one statement, so that work which
            goes on meanwhile is seen before or after a change and never in the middle of it.
        why: what is wrong with such a row; `{name}` stands for a column of `told`.
        told: columns and annotations that `why` names.
    """

    broken: Callable[[], models.QuerySet[Any]]
    why: str
    told: tuple[str, ...] = ()

    def violations(self) -> Iterator[Violation]:
        """Every row that breaks it, in constant memory."""
        rows = self.broken().order_by()
        label = rows.model._meta.label
        for row in rows.values("pk", *self.told).iterator(chunk_size=ROWS_AT_ONCE):
            yield Violation(label, str(row["pk"]), self.why.format(**row))


def number_of(rows: models.QuerySet[Any], by: str, counted: str = "pk") -> Coalesce:
    """How many of the rows refer by `by` to the row that is asked about.

    Args:
        counted: a column; only where it is filled does a row count.
    """
    grouped = rows.order_by().filter(**{by: OuterRef("pk")}).values(by)
    counts = grouped.annotate(n_referring=Count(counted)).values("n_referring")
    return Coalesce(Subquery(counts, output_field=models.IntegerField()), 0)
