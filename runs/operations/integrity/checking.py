"""Checking everything: what the apps say holds, what the database keeps, what the store holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from runs.models import Blob, Step
from runs.models.hooks import Hook
from runs.operations.integrity.contract import Invariant, Violation
from runs.operations.integrity.kept_by_database import missing_constraints
from runs.operations.integrity.of_runs import invariants
from runs.operations.integrity.stored_blobs import damaged_blobs

invariants_hook: Hook[Callable[[], Sequence[Invariant]]] = Hook("the rows of the app above")


def all_invariants() -> list[Invariant]:
    """Those of both apps."""
    return [*invariants(), *invariants_hook.get()()]


def checks(*, hashes: bool = False) -> list[Iterator[Violation]]:
    """What is to be looked at, one thing after the other; nothing is until it is asked for.

    Args:
        hashes: whether every file is read and compared with its hash, too.
    """
    of_rows = [invariant.violations() for invariant in all_invariants()]
    return [missing_constraints(), *of_rows, damaged_blobs(hashes=hashes)]


def violations(*, hashes: bool = False) -> Iterator[Violation]:
    """Everything that is not as it must be. Reads only, and holds one row at a time."""
    return chain.from_iterable(checks(hashes=hashes))


def checked_rows() -> dict[str, int]:
    """How many rows of each model a check looks at."""
    models = {invariant.broken().model for invariant in all_invariants()} | {Step, Blob}
    return {
        model._meta.label: model._base_manager.count()
        for model in sorted(models, key=lambda model: model._meta.label)
    }
