"""`manage.py apply_retention`: do what the rules of the experiments say, now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from runs.models import Run
from runs.services.retention import apply_retention, due, past_their_time


class Command(BaseCommand):
    help = (
        "Put away the runs that their experiments keep no longer, and delete those that were put"
        " away ARCHIVE_GRACE_DAYS ago. After every measurement of the store this happens by itself."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say how many")

    def handle(self, *, dry_run: bool, **_: Any) -> None:
        if dry_run:
            self.stdout.write(f"Past their time: {past_their_time().count()} runs.")
            self.stdout.write(f"Due to be deleted: {Run.objects.filter(due()).count()} runs.")
            return
        done = apply_retention()
        self.stdout.write(f"Put away: {done.archived} runs. Deleted: {done.deleted} runs.")
