"""`manage.py measure_space`: how full the store is, for the page on it."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.template.defaultfilters import filesizeformat

from runs.models import RunSpace
from runs.operations.space.measuring import measure_anew, measure_space


class Command(BaseCommand):
    help = "Measure what runs and experiments take of the store. Also done in the background."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--anew", action="store_true", help="every run again")

    def handle(self, *, anew: bool, **_: Any) -> None:
        found = measure_anew() if anew else measure_space()
        self.stdout.write(
            f"{filesizeformat(found.stored)} in {found.n_files} files,"
            f" {RunSpace.objects.count()} runs measured, in {found.seconds:.1f} s."
        )
