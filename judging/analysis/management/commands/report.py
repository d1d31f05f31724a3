"""`manage.py report`: the audit of a study as tables."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.query import AuditQuery, NoVerdict, Pairing, Unsure
from judging.analysis.audits.reports import AUDIT, BY_SPLIT, document, report_files
from judging.analysis.reports.writing import ENDINGS, write
from judging.studies.management.arguments import study_named
from runs.interface.terminal import write_files


class Command(BaseCommand):
    help = "Write the audit of a study as a document, a table or a folder."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="number or name")
        parser.add_argument("--format", choices=list(ENDINGS), default="markdown")
        parser.add_argument("--table", choices=list(AUDIT.entries), help="only this")
        parser.add_argument(
            "--unsure",
            choices=[each.value for each in Unsure],
            default=Unsure.IN.value,
            help="whether agreement counts “unsure” as an answer",
        )
        parser.add_argument(
            "--pairing",
            choices=[each.value for each in Pairing],
            default=Pairing.PEOPLE.value,
            help="agreement between people, or of each run's first label with its second",
        )
        parser.add_argument(
            "--no-verdict",
            choices=[each.value for each in NoVerdict],
            default=NoVerdict.LEFT_OUT.value,
            help="what a run without a verdict is to an evaluator's figures",
        )
        parser.add_argument(
            "--split", default="", help="split of the tasks that matrices and figures are of"
        )
        parser.add_argument("--out", type=Path, metavar="DIR", help="folder for a file each")

    def handle(self, *, study: str, table: str | None, out: Path | None, **options: Any) -> None:
        query = AuditQuery(
            unsure=Unsure(options["unsure"]),
            pairing=Pairing(options["pairing"]),
            no_verdict=NoVerdict(options["no_verdict"]),
            split=options["split"],
        )
        facts, ending = AuditFacts(study_named(study), query), ENDINGS[options["format"]]
        if query.split and (out is not None or table not in (None, *BY_SPLIT)):
            raise CommandError(f"of one split there are: {', '.join(BY_SPLIT)}")
        if out is not None:
            self._into_folder(facts, ending, table, out)
        elif table is not None:
            self.stdout.write(write(AUDIT.make(table, facts), ending), ending="")
        elif ending == "csv":
            raise CommandError("one CSV file holds one table: give --table or --out")
        else:
            self.stdout.write(document(facts, ending), ending="")

    def _into_folder(self, facts: AuditFacts, ending: str, table: str | None, out: Path) -> None:
        if table is not None:
            files = iter([(Path(f"{table}.{ending}"), write(AUDIT.make(table, facts), ending))])
        else:
            files = report_files(facts, ending)
        self.stdout.write(f"{write_files(out, dict(files))} files in {out}")
