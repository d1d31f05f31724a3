"""`manage.py write_hints`: hints from runs that succeeded, by a named source of verdicts."""

import json
import tomllib
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from pydantic import ValidationError

from judging.analysis.experiments.access import verdict_source
from judging.analysis.hint_effects.source_runs import (
    MOST_PER_TASK,
    SourceRunQuery,
    source_runs,
    writing_estimate,
)
from runs.catalogue.language_models import ModelUnavailableError, usable_entry
from runs.interface.terminal import dollars, experiment_named
from runs.knowledge.hints.writing import start_hint_writing
from runs.knowledge.learning import carry_out
from runs.models import LearningJob
from runs.queue.paid_work import WorkRefusedError
from webagent.knowledge.entries import Level
from webagent.knowledge.hints import HintWords
from webagent.trajectory.values import field_errors

MOST_BYTES = 200_000
"""Of a file with other prompts."""


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
        parser.add_argument(
            "--per-task",
            type=int,
            default=1,
            help=f"runs that each hint is written from, up to {MOST_PER_TASK}",
        )
        parser.add_argument(
            "--wording",
            type=Path,
            metavar="FILE",
            help="TOML with name and any of system, concrete, abstract, insights",
        )
        parser.add_argument("--max-cost", type=dollars, help="US dollars; work stops there")
        parser.add_argument("--dry-run", action="store_true", help="only estimate")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        source, named = verdict_source(options["verdict"]), options["experiment"]
        if not 1 <= options["per_task"] <= MOST_PER_TASK:
            raise CommandError(f"--per-task: a number from 1 to {MOST_PER_TASK}")
        wording = _wording(options["wording"])
        levels = [Level(level) for level in options["level"] or Level]
        source_query = SourceRunQuery(
            user=None,
            task_set=options["task_set"],
            experiment=experiment_named(named) if named else None,
            agent=options["agent"],
        )
        sources = source_runs(source_query, source, options["per_task"])
        try:
            estimate = writing_estimate(sources, levels, usable_entry(options["model"]), wording)
        except ModelUnavailableError as error:
            raise CommandError(str(error)) from error
        if options["dry_run"] or not options["json"]:
            shown = json.dumps(estimate.as_json(), indent=1) if options["json"] else estimate.words
            self.stdout.write(shown)
        if options["dry_run"]:
            return
        try:
            job = start_hint_writing(
                model=options["model"],
                run_ids=sources.runs,
                further=sources.further,
                levels=levels,
                wording=wording,
                estimate=estimate.as_json(),
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


def _wording(path: Path | None) -> HintWords | None:
    """The prompts of the file; None for the usual ones."""
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise CommandError(f"{path}: longer than {MOST_BYTES} bytes")
        return HintWords.model_validate(tomllib.loads(content.decode()))
    except ValidationError as error:
        raise CommandError(f"{path}: {'; '.join(map(str, field_errors(error)))}") from None
    except (OSError, ValueError) as error:
        raise CommandError(f"{path}: {error}") from None
