"""`manage.py import_labels FILE --study NAME`: labels and verdicts of a study made elsewhere."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging.portability.judgements.label_files import LabelReport, import_labels
from judging.studies.imported import StudyNameError
from runs.interface.terminal import file_errors


class Command(BaseCommand):
    help = (
        "Import labels, evaluators' verdicts and adjudications from CSV or JSON Lines, or "
        "AgentRewardBench's annotations (docs/judging.md). All rows are stored or none; "
        "repeating adds nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument(
            "--study", required=True, metavar="NAME", help="made, closed, if it is new"
        )
        parser.add_argument(
            "--stubs",
            action="store_true",
            help="take rows of runs that are not here: runs without trajectory are made for them",
        )
        parser.add_argument("--dry-run", action="store_true", help="only preview")

    def handle(self, *, file: Path, study: str, stubs: bool, dry_run: bool, **_: Any) -> None:
        try:
            with file_errors(file, "read"), file.open("rb") as stream:
                report = import_labels(stream, study=study, makes_stubs=stubs, dry_run=dry_run)
        except StudyNameError as error:
            raise CommandError(f"--study {study}: {error}") from None
        for name, line in report.unread.items():
            self.stdout.write(_plain(f"{file}, line {line}, {name}: is no column, and not read"))
        if report.bad:
            raise CommandError(_refusal(file, report))
        self.stdout.write(_summary(report, dry_run=dry_run))


def _summary(report: LabelReport, *, dry_run: bool) -> str:
    return (
        f"{'Would be new' if dry_run else 'New'}: {report.labels} labels, {report.verdicts}"
        f" verdicts, {report.adjudications} adjudications. Already there: {report.already_there}"
        f" of {report.rows} rows. Runs without trajectory: {report.stubs}."
        f" Runs of the study now: {report.settled} settled,"
        f" {report.disputed} disputed, {report.waiting} waiting for labels."
    )


def _refusal(file: Path, report: LabelReport) -> str:
    lines = [
        _plain(f"{file}, line {bad.line}, {bad.field or 'row'}: {bad.reason}")
        for bad in report.listed
    ]
    if report.bad > len(lines):
        lines.append(f"and {report.bad - len(lines)} more")
    rows = "1 row" if report.bad == 1 else f"{report.bad} rows"
    return "\n".join([f"Nothing was stored; {rows} cannot be:", *lines])


def _plain(text: str) -> str:
    """The words without what a terminal would obey."""
    return "".join(each if each.isprintable() else "\ufffd" for each in text)[:500]
