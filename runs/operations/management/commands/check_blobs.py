"""`manage.py check_blobs`: is everything in the store as it should be?"""

import sys
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from runs.interface.terminal import progress_bar
from runs.models import Blob
from runs.operations.blob_checks import (
    BlobReport,
    check_content,
    check_references,
    delete_orphans,
    find_orphans,
)


class Command(BaseCommand):
    help = (
        "Compare every blob with its hash, and every reference with its blob. Exit code 1 if "
        "any is damaged or missing; orphans do not count."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--delete-orphans",
            action="store_true",
            help="delete files without a row, and rows without a run, older than ORPHAN_GRACE_S",
        )

    def handle(self, **options: Any) -> None:
        report = BlobReport()
        with progress_bar() as progress:
            bar = progress.add_task("blobs", total=Blob.objects.count())
            for _checked in check_content(report):
                progress.advance(bar)
        check_references(report)
        find_orphans(report)
        if options["delete_orphans"]:
            delete_orphans(report, grace=timedelta(seconds=settings.ENV.ORPHAN_GRACE_S))
        self._print(report)
        if report.damaged:
            sys.exit(1)

    def _print(self, report: BlobReport) -> None:
        self.stdout.write(f"Checked {report.n_checked} blobs, {report.n_bytes} bytes.")
        for damage in report.damaged:
            self.stdout.write(self.style.ERROR(f"  {damage.sha256}: {damage.reason}"))
        self.stdout.write(f"Damaged or missing: {len(report.damaged)}.")
        self.stdout.write(
            f"Orphans: {len(report.orphan_files)} files without a row,"
            f" {len(report.unused)} blobs that no run refers to."
        )
        for name in (*report.orphan_files, *report.unused):
            self.stdout.write(f"  {name}")
        if report.n_deleted:
            self.stdout.write(f"Deleted: {report.n_deleted}.")
