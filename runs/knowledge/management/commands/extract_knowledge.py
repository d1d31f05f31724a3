"""Extract web knowledge from the logs of runs, and summarise it."""

import json
from argparse import ArgumentParser
from decimal import Decimal
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet

from runs.interface.terminal import dollars, experiment_named
from runs.knowledge.learning import carry_out
from runs.knowledge.web.services import start_extraction, start_summary
from runs.models import KnowledgeSet, LearningJob, Run, TaskSet
from runs.queue.paid_work import WorkRefusedError


class Command(BaseCommand):
    """Does the work itself; what it did stays where it is interrupted, for a worker to go on."""

    help = "Have a model write web knowledge from the logs of runs, without their verdicts."

    def add_arguments(self, parser: ArgumentParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--experiment", help="its runs")
        which.add_argument("--task-set", help='its runs, such as "webarena raw"')
        which.add_argument("--set", help="raw set to summarise")
        parser.add_argument("--name", default="", help="of the sets")
        parser.add_argument("--model", required=True, help="entry of the file of models")
        parser.add_argument("--limit", type=int, help="maximum number of runs, oldest first")
        parser.add_argument("--max-cost", type=dollars, help="US dollars a job")
        parser.add_argument("--summarise", action="store_true", help="also summarise")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        max_cost = options["max_cost"]
        try:
            if options["set"]:
                raw = _set(options["set"])
                jobs = [self._summary(raw, options["model"], max_cost)]
            else:
                jobs = self._extraction(options, max_cost)
        except WorkRefusedError as error:
            raise CommandError(str(error)) from error
        told = [_job_summary(job) for job in jobs]
        if options["json"]:
            self.stdout.write(json.dumps(told, ensure_ascii=False, indent=1))
        else:
            for each in told:
                self.stdout.write("\n".join(f"{name}: {value}" for name, value in each.items()))
        stuck = [job for job in jobs if job.state != LearningJob.State.FINISHED]
        if stuck:
            raise CommandError(stuck[0].problem or stuck[0].get_state_display())

    def _extraction(self, options: dict[str, Any], max_cost: Decimal | None) -> list[LearningJob]:
        runs, name = _runs(options)
        ids = list(runs.order_by("created_at", "pk").values_list("pk", flat=True))
        job = start_extraction(
            name=options["name"] or name,
            runs=ids[: options["limit"]],
            model=options["model"],
            max_cost=max_cost,
            is_told=True,
        )
        jobs = [_done(job)]
        if options["summarise"] and jobs[0].state == LearningJob.State.FINISHED:
            made = KnowledgeSet.objects.filter(job=job).order_by("pk")
            jobs += [self._summary(raw, options["model"], max_cost) for raw in made]
        return jobs

    def _summary(self, raw: KnowledgeSet, model: str, max_cost: Decimal | None) -> LearningJob:
        job = start_summary(knowledge_set=raw, model=model, max_cost=max_cost, is_told=True)
        return _done(job)


def _done(job: LearningJob) -> LearningJob:
    if not carry_out(job.pk):
        raise CommandError("Another job is asking this model now; try again when it has ended.")
    return LearningJob.objects.get(pk=job.pk)


def _runs(options: dict[str, Any]) -> tuple[QuerySet[Run], str]:
    """The runs that are meant, and what they are called together."""
    if options["experiment"]:
        found = experiment_named(options["experiment"])
        return Run.objects.filter(experiment=found), found.name
    words = options["task_set"]
    sets = [row for row in TaskSet.objects.all() if words in (row.name, str(row))]
    if not sets:
        raise CommandError(f"There is no task set {words!r}.")
    return Run.objects.filter(task__task_set__in=sets), words


def _set(words: str) -> KnowledgeSet:
    for row in KnowledgeSet.objects.filter(kind=KnowledgeSet.Kind.RAW):
        if str(row) == words:
            return row
    known = ", ".join(map(str, KnowledgeSet.objects.filter(kind=KnowledgeSet.Kind.RAW)))
    raise CommandError(f"There is no raw set {words!r}. There is: {known or 'none'}.")


def _job_summary(job: LearningJob) -> dict[str, Any]:
    made = KnowledgeSet.objects.filter(job=job).order_by("pk")
    return {
        "job": str(job.pk),
        "kind": job.kind,
        "state": job.state,
        "sets": [f"{row}: {row.n_entries} entries, {row.n_tokens} tokens" for row in made],
        **{name: value for name, value in job.report.items() if name != "sets"},
        "problems": job.n_problems,
        "input_tokens": job.input_tokens,
        "output_tokens": job.output_tokens,
        "cost": f"{job.spent:f}" if not job.n_unpriced else None,
    }
