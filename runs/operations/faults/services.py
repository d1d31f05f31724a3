"""Keeping what a campaign of faults found, so that every web process can show it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from runs.models import FaultCheck
from runs.operations.faults.fault_reports import FaultReport


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many tests of a report are shown from now on, and how many were older than known."""

    n_new: int
    n_older: int


@transaction.atomic
def load_fault_report(*, report: FaultReport) -> Loaded:
    """Show these findings, test by test, unless newer ones are known."""
    known = {(row.test, row.database): row.at for row in FaultCheck.objects.select_for_update()}
    newest: dict[tuple[str, str], FaultCheck] = {}
    for record in sorted(report.records, key=lambda record: record.at):
        key = (record.test, str(record.database))
        if key in known and record.at <= known[key]:
            continue
        newest[key] = FaultCheck(
            test=record.test,
            database=str(record.database),
            failure=record.failure,
            held=record.held,
            at=record.at,
            record=record.model_dump(mode="json"),
        )
    FaultCheck.objects.bulk_create(
        newest.values(),
        update_conflicts=True,
        unique_fields=["test", "database"],
        update_fields=["failure", "held", "at", "record"],
    )
    return Loaded(len(newest), len(report.records) - len(newest))
