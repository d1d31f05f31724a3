"""Checking everything: what the apps say holds, what the database keeps, what the store holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from django.apps import apps
from django.db import connection, models

from runs.models import Blob, Step
from runs.models.hooks import Hook
from runs.models.immutability import missing_guards
from runs.operations.integrity.contract import Invariant, Violation
from runs.operations.integrity.of_runs import invariants
from runs.storage.blob_checks import BlobReport, check_content, check_files, check_references


def missing_constraints() -> Iterator[Violation]:
    """Constraints of our models and guards that the database has lost, as by a partial restore.

    While they are there no row can break them, so that the rows need not be looked at.
    """
    with connection.cursor() as cursor:
        for model in apps.get_models():
            if model._meta.label.partition(".")[0] not in ("runs", "judging"):
                continue
            found = connection.introspection.get_constraints(cursor, model._meta.db_table)
            for name in sorted(_named(model) - found.keys()):
                yield Violation(model._meta.label, name, "the database has lost this constraint")
            unique = {
                tuple(c["columns"]) for c in found.values() if c["unique"] or c["primary_key"]
            }
            for column in sorted(_unique_columns(model)):
                if (column,) not in unique:
                    yield Violation(model._meta.label, column, "the database lets it repeat")
    for name in missing_guards():
        yield Violation("database", name, "the trigger that guards what never changes is gone")


def _named(model: type[models.Model]) -> set[str]:
    return {str(constraint.name) for constraint in model._meta.constraints}


def _unique_columns(model: type[models.Model]) -> set[str]:
    return {str(field.column) for field in model._meta.local_concrete_fields if field.unique}


def damaged_blobs(*, hashes: bool) -> Iterator[Violation]:
    """What `check_blobs` finds damaged or missing; every byte is read only with `hashes`."""
    report = BlobReport()
    check = check_content if hashes else check_files
    for _checked in check(report):
        yield from _violations(report)
    check_references(report)
    yield from _violations(report)


def _violations(report: BlobReport) -> Iterator[Violation]:
    for damage in report.damaged:
        yield Violation(Blob._meta.label, damage.sha256, damage.reason)
    report.damaged.clear()


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
