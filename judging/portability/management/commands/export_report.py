"""`manage.py export_report STUDY -o report.zip`: a study as pages that open from disk."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from judging.portability.study_report.pages import Choices
from judging.portability.study_report.writing import write_report
from judging.studies.access import STUDY_EXPORTED
from judging.studies.management import study_named
from runs.accounts.audit_log import record_entry
from runs.interface.terminal import file_errors, progress_bar


class Command(BaseCommand):
    help = (
        "Write a study as a zip of HTML pages that open from disk. The same study gives the "
        "same bytes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="number or name")
        parser.add_argument("-o", "--out", type=Path, required=True, metavar="OUT.zip")
        parser.add_argument("--without-names", action="store_true", help="people as A, B, C")
        parser.add_argument("--without-thoughts", action="store_true")
        parser.add_argument(
            "--language", choices=[code for code, _name in settings.LANGUAGES], default="en"
        )

    def handle(
        self,
        *,
        study: str,
        out: Path,
        without_names: bool,
        without_thoughts: bool,
        language: str,
        **_: Any,
    ) -> None:
        chosen = study_named(study)
        choices = Choices(names=not without_names, thoughts=not without_thoughts, language=language)
        with file_errors(out, "written"), out.open("xb") as file, progress_bar() as progress:
            bar = progress.add_task("runs", total=chosen.items.count())
            count = write_report(file, chosen, choices, on_run=lambda: progress.advance(bar))
        record_entry(STUDY_EXPORTED, about=chosen, words=chosen.name, after="report")
        self.stdout.write(f"{out}: {count} runs.")
