"""`manage.py delete_runs`: runs go for good, with the files that no other run has."""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand
from django.template.defaultfilters import filesizeformat

from runs.interface.terminal import experiment_named
from runs.models import Run
from runs.models.runs.queries import RunQuerySet
from runs.operations.space.retention import archive_runs, delete_archived, kept_by, unkept
from runs.storage.usage import bytes_of


class Command(BaseCommand):
    help = (
        "Archive runs and delete those archived for ARCHIVE_GRACE_DAYS, with files that no "
        "other run has. Runs that something rests on are kept."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        chosen = parser.add_mutually_exclusive_group(required=True)
        chosen.add_argument("--experiment", help="its name")
        chosen.add_argument("--runs", nargs="+", type=UUID, metavar="ID")
        parser.add_argument("--reason", required=True, help="kept in the audit log")
        parser.add_argument("--without-grace", action="store_true", help="delete them now")
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def handle(self, *args: Any, **options: Any) -> None:
        runs = _chosen(options)
        for words, n in kept_by(runs):
            self.stdout.write(f"Kept: {n} ({words}).")
        going = unkept(runs)
        if options["dry_run"]:
            size = filesizeformat(bytes_of(going))
            self.stdout.write(f"{_runs(going.count())} would be deleted, with {size} or less.")
            return
        reason = options["reason"]
        archived = archive_runs(runs=runs, why=reason)
        self.stdout.write(f"Archived: {_runs(archived)}.")
        gone = delete_archived(runs=runs, reason=reason, waits=not options["without_grace"])
        self.stdout.write(f"Deleted: {_runs(len(gone))}.")


def _chosen(options: dict[str, Any]) -> RunQuerySet[Run]:
    if options["runs"]:
        return Run.objects.filter(pk__in=options["runs"])
    return Run.objects.filter(experiment=experiment_named(options["experiment"]))


def _runs(n: int) -> str:
    return f"{n} run" if n == 1 else f"{n} runs"
