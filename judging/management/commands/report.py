"""`manage.py report`: the audit of a study as tables."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging.analysis.audits.reports import TABLES, report_files, whole_report
from judging.analysis.reports.writing import ENDINGS, write
from judging.management.arguments import study_named, write_files
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
            self.stdout.write(write(TABLES[table](chosen), ending), ending="")
        elif ending == "csv":
            raise CommandError("one CSV file holds one table: give --table or --out")
        else:
            self.stdout.write(whole_report(chosen, ending), ending="")

    def _into_folder(self, study: Study, ending: str, table: str | None, out: Path) -> None:
        if table is not None:
            files = iter([(Path(f"{table}.{ending}"), write(TABLES[table](study), ending))])
        else:
            files = report_files(study, ending)
        self.stdout.write(f"{write_files(out, dict(files))} files in {out}")
