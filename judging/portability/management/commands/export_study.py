"""`manage.py export_study STUDY OUT`: a whole study, or its runs alone, to a file."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging.models import Study
from judging.portability.study_bundles.services import write_study
from judging.studies.access import STUDY_EXPORTED
from judging.studies.management import study_named
from runs.accounts.audit_log import record_entry
from runs.exports.management.commands.export_runs import add_blinding, export_with_progress
from runs.exports.services import ExportFormat, replacing
from runs.interface.terminal import progress_bar
from runs.models import Run
from webagent.trajectory.blobs import BlobError

BUNDLE = "bundle"


class Command(BaseCommand):
    help = (
        "Write a whole study as a bundle that `import_study` reads, or its runs natively or "
        "as ATIF."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="number or name")
        parser.add_argument("out", type=Path, metavar="OUT")
        parser.add_argument(
            "--format", choices=[BUNDLE, *ExportFormat], default=BUNDLE, help="default bundle"
        )
        add_blinding(parser)

    def handle(self, *, study: str, out: Path, format: str, **options: Any) -> None:
        chosen = study_named(study)
        if format != BUNDLE:
            runs = Run.objects.filter(study_items__study=chosen)
            self.stdout.write(export_with_progress(out, runs, format=format, **options))
        elif options["blind"] or options["hide_agent"]:
            raise CommandError("a bundle holds everything: give --format native or atif")
        elif out.suffix != ".zip":
            raise CommandError(f"a bundle is a zip: {out} must end in .zip")
        else:
            self.stdout.write(_bundle(chosen, out))


def _bundle(study: Study, out: Path) -> str:
    try:
        with replacing(out) as unfinished, unfinished.open("wb") as file, progress_bar() as shown:
            bar = shown.add_task("runs", total=study.items.count())
            head = write_study(file, study, on_run=lambda: shown.advance(bar))
    except (BlobError, OSError) as error:
        raise CommandError(str(error)) from error
    record_entry(STUDY_EXPORTED, about=study, words=study.name)
    counts = [f"{kept['count']} {name.removesuffix('.jsonl')}" for name, kept in head.files.items()]
    return f"Wrote {', '.join(counts)} to {out}."
