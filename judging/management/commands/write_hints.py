"""`manage.py write_hints`: hints from runs that succeeded, by a named source of verdicts."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging.analysis.hint_effects.source_runs import SourceRunQuery, source_ids
from judging.management.arguments import dollars, verdict_source
from runs.interface.terminal import experiment_named
from runs.knowledge.hints.writing import start_hint_writing
from runs.knowledge.learning import carry_out
from runs.models import LearningJob
from runs.queue.paid_work import WorkRefusedError
from webagent.knowledge.entries import Level


class Command(BaseCommand):
    """Does the work itself; what it did stays where it is interrupted, for a worker to go on."""

    help = (
        "Have a model write hints from successful runs, of each task the shortest. Exit code "
        "1: the job failed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--verdict",
            default="reward",
            metavar="SOURCE",
            help="reward (default), reference, or evaluator:X",
        )
        parser.add_argument("--experiment", help="only its runs")
        parser.add_argument("--task-set", default="", help="only its runs")
        parser.add_argument("--agent", default="", help="only its runs")
        parser.add_argument("--model", required=True, help="entry of the file of models")
        parser.add_argument(
            "--level", action="append", choices=list(Level), help="repeatable; default all"
        )
        parser.add_argument("--max-cost", type=dollars, help="US dollars")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        source, named = verdict_source(options["verdict"]), options["experiment"]
        source_query = SourceRunQuery(
            user=None,
            task_set=options["task_set"],
            experiment=experiment_named(named) if named else None,
            agent=options["agent"],
        )
        try:
            job = start_hint_writing(
                model=options["model"],
                run_ids=source_ids(source_query, source),
                levels=[Level(level) for level in options["level"] or Level],
                verdict=source.key,
                verdict_name=source.name,
                verdict_rule=source.rule,
                max_cost=options["max_cost"],
                is_told=True,
            )
        except WorkRefusedError as error:
            raise CommandError(str(error)) from error
        if not carry_out(job.pk):
            raise CommandError("Another job is asking this model now; try again when it has ended.")
        job.refresh_from_db()
        summary = {"job": str(job.pk), "state": job.state, "cost": str(job.spent), **job.report}
        lines = "\n".join(f"{name}: {value}" for name, value in summary.items())
        self.stdout.write(json.dumps(summary, indent=1) if options["json"] else lines)
        if job.state != LearningJob.State.FINISHED:
            raise CommandError(job.problem or job.get_state_display())
