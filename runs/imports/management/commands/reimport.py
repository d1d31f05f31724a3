"""`manage.py reimport`: read kept originals and uploads again with the importers of today."""

import json
import time
from collections import Counter
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.imports.importing import import_upload
from runs.imports.management.commands.import_runs import read_answers
from runs.imports.reimporting import Became, Reimported, reimport
from runs.imports.services import GoneError, discard_after_look, import_after_look, read_again
from runs.interface.terminal import progress_bar
from runs.models import ImportJob, Run

POLL_S = 0.5
WORDS = {
    Became.NEW: "new",
    Became.UNCHANGED: "as before",
    Became.REPLACED: "read anew",
    Became.KEPT: "left as they were",
    Became.NO_ORIGINAL: "without a kept original",
    Became.UNREADABLE: "not readable any more",
    Became.DELETED: "deleted since, which stay out",
}


class Command(BaseCommand):
    help = (
        "Read kept originals of imported runs again. Runs keep their address; those that are "
        "judged, repeated or learnt from stay as they are."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--run", nargs="+", type=UUID, default=[], metavar="ID")
        parser.add_argument("--import", type=UUID, metavar="ID", dest="job", help="its kept upload")
        parser.add_argument("--format", help="only runs of this format")
        parser.add_argument("--experiment", help="only its runs")
        parser.add_argument("--answer", action="append", default=[], metavar="KEY=CHOICE")
        parser.add_argument("--dry-run", action="store_true", help="only preview")
        parser.add_argument("--json", action="store_true")

    def handle(
        self,
        *,
        run: list[UUID],
        job: UUID | None,
        format: str | None,
        experiment: str | None,
        answer: list[str],
        dry_run: bool,
        **options: Any,
    ) -> None:
        answers = read_answers(answer)
        if job:
            if run or format or experiment:
                raise CommandError("--import goes without --run, --format and --experiment")
            self._read_file(job, answers, only_look=dry_run, as_json=options["json"])
            return
        chosen = Run.objects.ended().order_by("pk")
        wanted = {"pk__in": run, "source_format": format, "experiment__name": experiment}
        chosen = chosen.filter(**{key: value for key, value in wanted.items() if value})
        found: list[Reimported] = []
        with progress_bar(shown=not options["json"]) as progress:
            bar = progress.add_task("runs", total=chosen.count())
            for pk in list(chosen.values_list("pk", flat=True)):
                row = Run.objects.select_related("task__task_set", "agent", "experiment").get(pk=pk)
                found.append(reimport(row, answers=answers, only_look=dry_run))
                progress.advance(bar)
        self._print(found, as_json=options["json"])

    def _read_file(
        self, job_id: UUID, answers: dict[str, str], *, only_look: bool, as_json: bool
    ) -> None:
        """Have the import's file read again, and say what came of it, or would."""
        try:
            first = ImportJob.objects.get(pk=job_id)
            reading = _ended(read_again(job=first, user=first.created_by))
        except (ImportJob.DoesNotExist, GoneError) as error:
            raise CommandError("there is no such import, or its file is not kept") from error
        if only_look:
            discard_after_look(job=reading)
            told = reading.survey
            lines = [f"{n} {WORDS[Became(key)]}." for key, n in told["again"]["counts"].items()]
            runs = told["again"]["runs"]
        else:
            import_after_look(job=reading, answers=first.answers | answers)
            told = _ended(reading).report
            keys = ("imported", "already_there", "replaced", "left", "rejected")
            lines = [f"{told['counts'][key]} {key.replace('_', ' ')}." for key in keys]
            runs = told["read_again"]
        if as_json:
            self.stdout.write(json.dumps(told, ensure_ascii=False, indent=2))
            return
        lines += [f"  {row['source']}: {row['reason']}" for row in runs if row["reason"]]
        self.stdout.write("\n".join(lines))

    def _print(self, found: list[Reimported], *, as_json: bool) -> None:
        if as_json:
            rows = [each.to_json() for each in found]
            self.stdout.write(json.dumps(rows, ensure_ascii=False, indent=2))
            return
        counts = Counter(each.became for each in found)
        for became, words in WORDS.items():
            if counts[became]:
                self.stdout.write(f"{counts[became]} {words}.")
        for each in found:
            if each.reason:
                self.stdout.write(self.style.WARNING(f"  {each.run_id}: {each.reason}"))


def _ended(job: ImportJob) -> ImportJob:
    """The import, carried out here, or by the worker that was quicker."""
    job.refresh_from_db()
    while job.is_active:
        if not import_upload(job.pk):
            time.sleep(POLL_S)
        job.refresh_from_db()
    if job.state == ImportJob.State.FAILED:
        raise CommandError(f"the file could not be read: {job.problem}")
    return job
