"""`manage.py apply_retention`: do what the rules of the experiments say, now."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from runs.models import Run
from runs.operations.space.retention import apply_retention, due, kept_by, past_their_time, unkept


class Command(BaseCommand):
    help = (
        "Archive runs by their experiments' rules, and delete those archived for "
        "ARCHIVE_GRACE_DAYS. Also done after every measurement of the store."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def handle(self, *, dry_run: bool, **_: Any) -> None:
        if dry_run:
            old, away = past_their_time(), Run.objects.filter(due())
            n = unkept(old).count()
            self.stdout.write(f"To be archived: {n} runs, and those that only they repeat.")
            self.stdout.write(f"To be deleted: {unkept(away).count()} runs.")
            for words, n in kept_by(old | away):
                self.stdout.write(f"Kept: {n} ({words}).")
            return
        done = apply_retention()
        self.stdout.write(f"Archived: {done.archived} runs. Deleted: {done.deleted} runs.")
