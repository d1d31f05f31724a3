"""Every blob that a row refers to is there, as its row says."""

from __future__ import annotations

from collections.abc import Iterator

from runs.models import Blob
from runs.operations.integrity.contract import Violation
from runs.storage.blob_checks import BlobReport, check_content, check_files, check_references


def damaged_blobs(*, hashes: bool) -> Iterator[Violation]:
    """What `check_blobs` finds damaged or missing; every byte is read only with `hashes`."""
    report = BlobReport()
    check = check_content if hashes else check_files
    for _checked in check(report):
        yield from _told(report)
    check_references(report)
    yield from _told(report)


def _told(report: BlobReport) -> Iterator[Violation]:
    for damage in report.damaged:
        yield Violation(Blob._meta.label, damage.sha256, damage.reason)
    report.damaged.clear()
