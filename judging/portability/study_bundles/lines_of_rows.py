"""Rows as the lines of a bundle: what is named alike in both is taken over as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from django.db import models

from judging.portability.study_bundles.records import Line
from runs.models import User

L = TypeVar("L", bound=Line)

AT_ONCE = 200
RUN_PARTS = ("record", "evidence", "goal", "final_answer")
"""Large columns of runs that no line here needs."""


def as_line(kind: type[L], row: models.Model, **given: Any) -> L:
    """The line with what is given, and all its other fields from the row's columns."""
    named = {name: getattr(row, name) for name in kind.model_fields if name not in given}
    return kind(**named, **given)


def name_of(user: User | None) -> str | None:
    """How the file names a person."""
    return user.username if user else None


def place_in(numbers: Mapping[int, int], row: Any) -> dict[str, Any]:
    """Which of the numbered words on one run these are, whose, and which they replace."""
    return {
        "number": numbers[row.pk],
        "by": row.by.username,
        "replaces": numbers.get(row.replaces_id) if row.replaces_id else None,
    }
