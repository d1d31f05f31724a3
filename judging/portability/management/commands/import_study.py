"""`manage.py import_study FILE`: a whole study from the bundle that `export_study` wrote."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging.portability.study_bundles.reading import BundleError
from judging.portability.study_bundles.services import Imported, import_study
from runs.interface.terminal import progress_bar


class Command(BaseCommand):
    help = (
        "Import a whole study: what is missing is stored, what differs is named. All or "
        "nothing. Unknown people get accounts that cannot log in."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--name", help="instead of its own")
        parser.add_argument("--json", action="store_true")

    def handle(self, *, file: Path, name: str | None, **options: Any) -> None:
        try:
            with progress_bar(shown=not options["json"]) as shown:
                bar = shown.add_task("runs", total=None)
                found = import_study(
                    file, name=name, on_run=lambda n: shown.update(bar, completed=n)
                )
        except BundleError as error:
            raise CommandError(f"The study was not stored:\n{error}") from None
        if options["json"]:
            summary = {"study": found.study.to_json(), "runs": found.runs.to_json()}
            self.stdout.write(json.dumps(summary, ensure_ascii=False, indent=2))
        else:
            self._show(found)

    def _show(self, found: Imported) -> None:
        runs, study = found.runs, found.study
        self.stdout.write(
            f"{len(runs.imported)} runs imported, {len(runs.already_there)} already there."
        )
        for words, counts in (("new", study.new), ("already there", study.already_there)):
            self.stdout.write(f"{study.study}, {words}: {study.told(counts) or 'nothing'}.")
        if study.people:
            self.stdout.write(f"Accounts made, not active: {', '.join(study.people)}.")
        for words in study.conflicts:
            self.stdout.write(self.style.WARNING(f"  {words}"))
        if study.n_conflicts > len(study.conflicts):
            self.stdout.write(f"  and {study.n_conflicts - len(study.conflicts)} more")
