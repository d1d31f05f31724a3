"""`manage.py replicate FILE`: a published study from one file, its tables beside our own."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.progress import Progress, TaskID

from judging.analysis.reports.writing import ENDINGS, write
from judging.models import Replication
from judging.replication.bundles import import_bundle, write_bundle
from judging.replication.reports import PLAN, ReplicationFacts
from judging.replication.services import take_up
from judging.replication.study_parts import StudyFileError
from judging.replication.work import REFUSED, Work, carry_out_here
from runs.exports.services import replacing
from runs.interface.terminal import interruptible, progress_bar
from runs.models import Run
from webagent.trajectory.blobs import BlobError


class Command(BaseCommand):
    """Without an action it plans: nothing is run before somebody says so."""

    help = (
        "Replicate a published study: plan what its file takes, run it, continue it, and write "
        "the paper's tables beside our own."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", type=Path, metavar="FILE", help="study file (TOML), or a bundle (zip)"
        )
        action = parser.add_mutually_exclusive_group()
        action.add_argument("--plan", action="store_true", help="what it takes (default)")
        action.add_argument("--run", action="store_true", help="run it here, until people are due")
        action.add_argument("--resume", action="store_true", help="the same, where it stopped")
        action.add_argument("--bundle", type=Path, metavar="ZIP", help="write it, whole")
        action.add_argument("--report", action="store_true", help="its tables, as things are")
        parser.add_argument("--format", choices=list(ENDINGS), default="text")
        parser.add_argument("--table", metavar="KEY", help="only this")
        parser.add_argument("--out", type=Path, metavar="DIR", help="folder for a file each")

    def handle(self, *, file: Path, report: bool, **options: Any) -> None:
        replication = _taken_up(file)
        if options["bundle"]:
            self.stdout.write(_bundle(options["bundle"], replication))
            return
        if options["run"] or options["resume"]:
            self._run(replication, file.parent, is_resumed=options["resume"])
            report = True
        facts = ReplicationFacts(replication)
        if report:
            facts.registry.answer(self, facts, options, facts.document)
        else:
            self.stdout.write(write(facts.report(PLAN), "txt"), ending="")

    def _run(self, replication: Replication, folder: Path, *, is_resumed: bool) -> None:
        """Carry it out here, and then write its tables."""
        if is_resumed and replication.started_at is None:
            raise CommandError(f"{replication.name} was never started: give --run")
        work = Work(replication, folder=folder, is_told=True)
        try:
            with interruptible() as signals, progress_bar() as progress:
                bar = progress.add_task("runs", total=None)
                if is_resumed:
                    work.resume()
                is_over = carry_out_here(
                    work,
                    should_stop=lambda: bool(signals),
                    on_change=lambda: _show(progress, bar, work),
                )
        except REFUSED as error:
            raise CommandError(str(error)) from None
        if not is_over:
            raise CommandError("Stopped. The same command with --resume goes on.", returncode=130)


def _taken_up(file: Path) -> Replication:
    try:
        if file.suffix == ".zip":
            return import_bundle(file)
        return take_up(content=file.read_bytes(), file_name=file.name, user=None)
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from None
    except StudyFileError as error:
        raise CommandError(str(error)) from None


def _bundle(out: Path, replication: Replication) -> str:
    try:
        with replacing(out) as unfinished:
            head = write_bundle(unfinished, replication)
    except (BlobError, OSError) as error:
        raise CommandError(str(error)) from error
    return f"Wrote {', '.join(head.files)} to {out}."


def _show(progress: Progress, bar: TaskID, work: Work) -> None:
    runs = Run.objects.filter(experiment__replication_parts__replication=work.replication)
    last = runs.latest_attempts()
    total = last.count()
    ended = last.ended().count()
    progress.update(bar, total=total, completed=ended)
