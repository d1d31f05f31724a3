"""What a check of integrity finds, for tests that plant something or kill somebody."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from django.db.models import Model

from runs.models.invariants import Violation
from runs.operations.integrity import all_invariants, violations


def everything_holds() -> None:
    """Fails with every violation there is."""
    _fail_with(violations())


def rows_hold(*models: type[Model]) -> None:
    """Fails with every row of these models (of all if none is named) that is not as it must be."""
    labels = {model._meta.label for model in models}
    told = [broken for each in all_invariants() for broken in each.violations()]
    _fail_with(broken for broken in told if not labels or broken.model in labels)


def _fail_with(told: Iterable[Violation]) -> None:
    if words := [str(broken) for broken in told]:
        pytest.fail("\n".join(words))


def found(row: Model) -> list[str]:
    """What is wrong with this row; fails if anything is with another."""
    told = [broken for each in all_invariants() for broken in each.violations()]
    assert {(broken.model, broken.key) for broken in told} <= {(row._meta.label, str(row.pk))}
    return [broken.why for broken in told]


def plant(row: Model, **columns: Any) -> list[str]:
    """Write what no service would write, past all of them; returns what is found of it."""
    type(row)._base_manager.filter(pk=row.pk).update(**columns)
    return found(row)
