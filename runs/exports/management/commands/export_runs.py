"""`manage.py export_runs OUT`: write runs in the native format or as ATIF."""

from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import QuerySet

from runs.accounts.audit_log import record_entry
from runs.exports.services import ExportFormat, export_atif, export_runs
from runs.interface.terminal import experiment_named, progress_bar
from runs.models import Run
from runs.models.audit_log import RUNS_EXPORTED
from webagent.trajectory.blobs import BlobError
from webagent.trajectory.formats.native.schema import Blinding


class Command(BaseCommand):
    help = (
        "Write runs with their labels and verdicts to a .zip or a folder. All ended runs, "
        "unless some are chosen."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("out", type=Path, metavar="OUT")
        parser.add_argument(
            "--format",
            choices=list(ExportFormat),
            default=ExportFormat.NATIVE,
            help="default native",
        )
        parser.add_argument("--experiment")
        parser.add_argument("--run", nargs="+", type=UUID, metavar="ID")
        add_blinding(parser)

    def handle(
        self, *, out: Path, experiment: str | None, run: list[UUID] | None, **options: Any
    ) -> None:
        runs = Run.objects.ended()
        if experiment:
            runs = runs.filter(experiment=experiment_named(experiment))
        if run:
            runs = runs.filter(pk__in=run)
            missing = set(run) - set(runs.values_list("pk", flat=True))
            if missing:
                raise CommandError(f"no ended run has the id {', '.join(map(str, missing))}")
        self.stdout.write(export_with_progress(out, runs, **options))


def add_blinding(parser: CommandParser) -> None:
    """The options of `export_with_progress` on what is left out."""
    parser.add_argument(
        "--blind", action="store_true", help="without references, rewards, verdicts"
    )
    parser.add_argument("--hide-agent", action="store_true", help="also without agents and models")


def export_with_progress(
    out: Path,
    runs: QuerySet[Run],
    *,
    blind: bool = False,
    hide_agent: bool = False,
    format: str = ExportFormat.NATIVE,
    **_: Any,
) -> str:
    """Export with a bar; what was written, in words.

    Raises:
        CommandError: it could not be written; says why.
    """
    blinding = Blinding(hide_agent=hide_agent) if blind or hide_agent else None
    try:
        with progress_bar() as progress:
            bar = progress.add_task(out.name, total=runs.count())
            on_run = partial(progress.advance, bar)
            if format == ExportFormat.ATIF:
                n = export_atif(out, runs, blinding=blinding, on_run=on_run)
                record_entry(RUNS_EXPORTED, words=out.name, after=f"{n} runs, {format}")
                return f"Wrote {n} runs as ATIF documents to {out}."
            manifest = export_runs(out, runs, blinding=blinding, on_run=on_run)
    except FileExistsError:
        raise CommandError(f"{out} is not empty") from None
    except (BlobError, OSError) as error:
        raise CommandError(str(error)) from error
    n_runs = manifest.files["runs.jsonl"].count if "runs.jsonl" in manifest.files else 0
    record_entry(RUNS_EXPORTED, words=out.name, after=f"{n_runs} runs, {format}")
    counts = ", ".join(
        f"{file.count} {name.removesuffix('.jsonl')}" for name, file in manifest.files.items()
    )
    return f"Wrote {counts} and {manifest.blobs.count} files to {out}."
