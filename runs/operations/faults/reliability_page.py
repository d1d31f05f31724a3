"""What the page of reliability shows: every failure, what was tried, and what was found."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from runs.interface.spreadsheets import harmless
from runs.models import FaultCheck
from runs.operations.faults.failures_withstood import FAILURES, Failure
from runs.operations.faults.fault_reports import FaultRecord, FaultReport

COLUMNS = tuple(FaultRecord.model_fields)


@dataclass(frozen=True, slots=True)
class Tried:
    """One failure with the tests that cause it, broken promises first."""

    failure: Failure
    records: tuple[FaultRecord, ...]

    @property
    def n_broken(self) -> int:
        return sum(not record.held for record in self.records)

    @property
    def times(self) -> int:
        return sum(record.times for record in self.records)


@dataclass(frozen=True, slots=True)
class Reliability:
    """All failures: those whose promise was broken first, those never tried last."""

    tried: tuple[Tried, ...]
    untried: tuple[Failure, ...]
    records: tuple[FaultRecord, ...]

    @property
    def n_broken(self) -> int:
        return sum(not record.held for record in self.records)

    @property
    def faults(self) -> int:
        return sum(record.times for record in self.records)

    @property
    def acknowledged(self) -> int:
        return sum(record.acknowledged for record in self.records)

    @property
    def lost(self) -> int:
        return sum(record.lost for record in self.records)

    @property
    def doubled(self) -> int:
        return sum(record.doubled for record in self.records)

    @property
    def slowest_s(self) -> float | None:
        """The largest of all 95th percentiles of recovery."""
        return max((r.recovery_p95_s for r in self.records if r.recovery_p95_s), default=None)

    @property
    def newest(self) -> FaultRecord | None:
        return max(self.records, key=lambda record: record.at, default=None)


def reliability() -> Reliability:
    """Everything that was loaded, in one query."""
    records = [FaultRecord.model_validate(check.record) for check in FaultCheck.objects.all()]
    records.sort(key=lambda record: (record.held, record.test, record.database))
    tried = [
        Tried(failure, tuple(record for record in records if record.failure == failure.number))
        for failure in FAILURES
    ]
    tried.sort(key=lambda tried: (tried.n_broken == 0, tried.failure.number))
    return Reliability(
        tried=tuple(each for each in tried if each.records),
        untried=tuple(each.failure for each in tried if not each.records),
        records=tuple(records),
    )


def as_json(found: Reliability) -> str:
    """A report that can be loaded elsewhere."""
    newest = found.newest
    assert newest is not None  # noqa: S101 - the view offers no file without one
    report = FaultReport(made_at=newest.at, version=newest.version, records=found.records)
    return report.model_dump_json(indent=1)


def as_csv(found: Reliability) -> str:
    """One line a test, under a line of names."""
    file = io.StringIO()
    table = csv.writer(file)
    table.writerow(COLUMNS)
    table.writerows(_cells(record) for record in found.records)
    return file.getvalue()


def _cells(record: FaultRecord) -> Iterator[str]:
    for name in COLUMNS:
        value = getattr(record, name)
        if isinstance(value, dict):
            value = "; ".join(f"{key}: {count}" for key, count in value.items())
        elif isinstance(value, tuple):
            value = "; ".join(value)
        elif isinstance(value, datetime):
            value = value.isoformat()
        yield "" if value is None else harmless(str(value))


WRITERS = {"json": (as_json, "application/json"), "csv": (as_csv, "text/csv; charset=utf-8")}
"""By the ending of the file's name."""
