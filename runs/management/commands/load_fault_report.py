"""`manage.py load_fault_report FILE`: show what a campaign of faults found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.operations.faults.fault_reports import MAX_BYTES, UnreadableReportError, read_report
from runs.operations.faults.services import load_fault_report


class Command(BaseCommand):
    help = "Show what `python -m tests.faults` found on the page Operations > Reliability."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *, file: Path, **_: Any) -> None:
        try:
            with file.open("rb") as opened:
                report = read_report(opened.read(MAX_BYTES + 1))
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}") from None
        except UnreadableReportError as error:
            raise CommandError(f"{file} is no report of faults: {error}") from None
        loaded = load_fault_report(report=report)
        broken = sum(not record.held for record in report.records)
        self.stdout.write(
            f"{loaded.n_new} findings loaded, {loaded.n_older} older than known;"
            f" {broken} promises broken."
        )
