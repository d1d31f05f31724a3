"""`manage.py report`: the audit of a study as tables to take away."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging.analysis.audits.report import ENDINGS, report_files, whole_report
from judging.analysis.audits.tables import TABLES
from judging.analysis.reports import FORMATS
from judging.management.arguments import study_named
from judging.models import Study


class Command(BaseCommand):
    help = "Write the audit of a study as a document, a table or a folder."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="number or name")
        parser.add_argument("--format", choices=list(ENDINGS), default="markdown")
        parser.add_argument("--table", choices=list(TABLES), help="only this")
        parser.add_argument("--out", type=Path, metavar="DIR", help="folder for a file each")

    def handle(self, *, study: str, table: str | None, out: Path | None, **options: Any) -> None:
        chosen, ending = study_named(study), ENDINGS[options["format"]]
        if out is not None:
            self._into_folder(chosen, ending, table, out)
        elif table is not None:
            self.stdout.write(FORMATS[ending].write(TABLES[table](chosen)), ending="")
        elif ending == "csv":
            raise CommandError("one CSV file holds one table: give --table or --out")
        else:
            self.stdout.write(whole_report(chosen, ending), ending="")

    def _into_folder(self, study: Study, ending: str, table: str | None, out: Path) -> None:
        if table is not None:
            files = iter([(Path(f"{table}.{ending}"), FORMATS[ending].write(TABLES[table](study)))])
        else:
            files = report_files(study, ending)
        number = 0
        for path, text in files:
            target = out / path
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                # CSV brings its own line ends.
                target.write_text(text, encoding="utf-8", newline="")
            except OSError as error:
                raise CommandError(f"{target} cannot be written: {error.strerror}") from error
            number += 1
        self.stdout.write(f"{number} files in {out}")
