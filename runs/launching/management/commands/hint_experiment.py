"""Launch the experiment that compares hints: a baseline, and every level at every relatedness."""

import json
import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from runs.launching.experiments.hint_plans import (
    HintPlan,
    HintPool,
    launch_hint_experiment,
    plan_hints,
)
from runs.launching.experiments.selection import PlanError
from runs.launching.experiments.services import plan_problem
from runs.launching.management.commands.run_experiment import add_plan_arguments, read_plan
from runs.models import Hint, LearningJob
from webagent.knowledge.entries import Level, Relatedness

SAME_PLAN = uuid.UUID("0d2b64a5-6a57-4a43-8b0b-7a4d3d1d7c55")
"""Under it, a name and a plan become a token: the same command launches once."""


class Command(BaseCommand):
    """Queues the runs for the workers."""

    help = (
        "Launch an agent at every task without hints and under every condition. A repeated "
        "command launches once."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_plan_arguments(parser, trials=3)
        parser.add_argument("--agent", required=True, metavar="KIND[:JSON]")
        parser.add_argument("--hints", metavar="JOB", help="default: the last")
        parser.add_argument(
            "--level", action="append", choices=list(Level), help="repeatable; default all"
        )
        parser.add_argument(
            "--relatedness",
            action="append",
            choices=list(Relatedness),
            help="repeatable; default: all",
        )
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            plan = _plan(options)
            if problem := plan_problem(plan.plan):
                raise PlanError(problem)
            self._print(plan)
            if options["dry_run"]:
                return
            content = [plan.plan.name, plan.plan.to_json(), [each.key for each in plan.conditions]]
            token = uuid.uuid5(SAME_PLAN, json.dumps(content, sort_keys=True))
            launched = launch_hint_experiment(plan=plan, token=token, user=None)
        except PlanError as error:
            raise CommandError(str(error)) from None
        news = "is queued" if launched.is_new else "was launched before"
        self.stdout.write(f"{launched.experiment.name} {news}.")

    def _print(self, plan: HintPlan) -> None:
        self.stdout.write(
            f"{plan.n_runs} runs: {len(plan.plan.tasks)} tasks × ({len(plan.conditions)} conditions"
            f" + 1) × {plan.plan.trials} trials"
        )
        for relatedness in plan.found.sources:
            if (ties := plan.found.ties(relatedness)).drawn:
                self.stdout.write(
                    f"{relatedness}: {ties.drawn} of {ties.n} sources drawn by lot among equal"
                    f" scores, half of them among {ties.median:g} or more"
                )
        for relatedness, missing in plan.found.missing.items():
            if missing:
                names = ", ".join(task.external_id for task in missing)
                self.stdout.write(f"left out, without a source for {relatedness}: {names}")


def _plan(options: dict[str, Any]) -> HintPlan:
    """Raises PlanError."""
    plan = read_plan(options, [options["agent"]], None)
    job = _job(options["hints"])
    hints = list(Hint.objects.for_list().filter(job=job))
    pool = HintPool(job, hints, [Level(each) for each in options["level"] or Level])
    return plan_hints(plan, pool, [Relatedness(r) for r in options["relatedness"] or Relatedness])


def _job(words: str | None) -> LearningJob:
    jobs = LearningJob.objects.filter(kind=LearningJob.Kind.HINTS, hints__isnull=False).distinct()
    try:
        found = jobs.filter(pk=words).first() if words else jobs.order_by("-created_at").first()
    except ValidationError:
        found = None
    if found is None:
        raise CommandError("There are no such hints. Have them written with write_hints first.")
    return found
