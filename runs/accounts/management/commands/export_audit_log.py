"""`manage.py export_audit_log FILE`: the audit log as CSV or JSONL."""

from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from runs.accounts.audit_log import record_entry
from runs.accounts.audit_log_pages import WRITERS, shown
from runs.interface.terminal import file_errors
from runs.models import AuditEntry
from runs.models.audit_log import LOG_DOWNLOADED


class Command(BaseCommand):
    help = "Write the audit log, oldest entry first, as .csv or .jsonl."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--since", type=datetime.fromisoformat, metavar="YYYY-MM-DD")

    def handle(self, *, file: Path, since: datetime | None, **_: Any) -> None:
        write = WRITERS.get(file.suffix.removeprefix("."))
        if write is None:
            raise CommandError("the file's name must end in .csv or .jsonl")
        entries = AuditEntry.objects.order_by("pk")
        if since is not None:
            aware = since if timezone.is_aware(since) else timezone.make_aware(since)
            entries = entries.filter(at__gte=aware)
        n = -1 if write is WRITERS["csv"] else 0  # its first line has the names
        with file_errors(file, "written"), file.open("w", newline="", encoding="utf-8") as out:
            for line in write(shown(entries.iterator(), with_details=True)):
                out.write(line)
                n += 1
        record_entry(LOG_DOWNLOADED, after=f"{n} entries, {file.suffix.removeprefix('.')}")
        self.stdout.write(f"{n} entries are in {file}.")
