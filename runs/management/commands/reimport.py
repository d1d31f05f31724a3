"""`manage.py reimport`: read kept originals again with the importers of today."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandParser

from runs.execution.reimporting import Became, Reimported, reimport
from runs.management.answers import read_answers
from runs.management.progress import progress_bar
from runs.models import Run, RunStatus

WORDS = {
    Became.UNCHANGED: "as before",
    Became.REPLACED: "read anew",
    Became.KEPT: "left as they were",
    Became.NO_ORIGINAL: "without a kept original",
    Became.UNREADABLE: "not readable any more",
}


class Command(BaseCommand):
    help = (
        "Read the kept originals of imported runs again, without a new upload. Runs keep their"
        " addresses and what imports said of them. A run that is judged here, repeated, or that"
        " hints were made from stays as it was, and the report says why."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--run", nargs="+", type=UUID, default=[], metavar="ID")
        parser.add_argument("--format", help="runs that came in this format")
        parser.add_argument("--experiment", help="runs of this experiment")
        parser.add_argument("--answer", action="append", default=[], metavar="KEY=CHOICE")
        parser.add_argument("--dry-run", action="store_true", help="look, and change nothing")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(
        self,
        *,
        run: list[UUID],
        format: str | None,
        experiment: str | None,
        answer: list[str],
        dry_run: bool,
        **options: Any,
    ) -> None:
        answers = read_answers(answer)
        chosen = Run.objects.filter(status__in=RunStatus.ended()).order_by("pk")
        wanted = {"pk__in": run, "source_format": format, "experiment__name": experiment}
        chosen = chosen.filter(**{key: value for key, value in wanted.items() if value})
        found: list[Reimported] = []
        with progress_bar(shown=not options["json"]) as progress:
            bar = progress.add_task("runs", total=chosen.count())
            for pk in list(chosen.values_list("pk", flat=True)):
                row = Run.objects.select_related("task__task_set", "agent", "experiment").get(pk=pk)
                found.append(reimport(row, answers=answers, only_look=dry_run))
                progress.advance(bar)
        self._tell(found, as_json=options["json"])

    def _tell(self, found: list[Reimported], *, as_json: bool) -> None:
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
