"""`manage.py miniwob_suite`: an agent on MiniWoB++ over many seeds, and the tables of it."""

import math
import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.progress import Progress, TaskID

from judging.analysis.experiments.facts import Facts, ReportQuery
from judging.analysis.experiments.population import Source, whole_scope
from judging.analysis.experiments.reports import EXPERIMENT, OF_SUITE
from judging.analysis.miniwob.services import (
    MAX_SEED,
    NoFailuresError,
    draw_sample,
    propose_waiting,
)
from judging.analysis.reports.report import Report
from judging.analysis.reports.writing import write_document, write_text
from runs.interface.terminal import at_most, interruptible, progress_bar, write_files
from runs.launching.experiments.plans import Plan, read_agent, seed_list
from runs.launching.experiments.selection import PlanError, Selection, read_names, tasks_of
from runs.launching.experiments.services import (
    active_runs,
    carry_out_experiment,
    launch_experiment,
    resume_experiment,
)
from runs.models import AgentConfiguration, Experiment, Run
from webagent.environment.miniwob import task_names
from webagent.environment.miniwob_suite import TASK_SET, UnknownSuiteTask, short_name, suite_tasks

MOST_COMPLETIONS = 10
"""As in the source: so often the agent may be asked in a run."""
LONGEST_NAME = 200


class Command(BaseCommand):
    """Ordinary runs of an experiment, carried out here or left to the workers; then the tables."""

    help = (
        "Measure an agent on MiniWoB++, as an experiment. A repeated command continues; a "
        "finished suite only prints its tables. Exit code 130: interrupted."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--agent", required=True, metavar="KIND[:JSON]")
        parser.add_argument("--tasks", default="all", help="one-step, many-step, all, or names")
        parser.add_argument("--seeds", default="0-49", help="0-49 (default) or 4,8,15")
        parser.add_argument("--include-excluded", action="store_true", help="also excluded tasks")
        parser.add_argument("--max-steps", type=int, default=MOST_COMPLETIONS)
        parser.add_argument("--name", default="", help="of the experiment")
        parser.add_argument("--resume", action="store_true", help="only continue")
        parser.add_argument("--workers", action="store_true", help="let workers run them, and wait")
        parser.add_argument(
            "--draw", type=at_most, metavar="N", help="failures to draw for tagging"
        )
        parser.add_argument("--draw-seed", type=int, help="of the draw")
        parser.add_argument("--json", action="store_true")
        parser.add_argument("--out", type=Path, metavar="FILE", help="JSON file")

    def handle(self, *args: Any, **options: Any) -> None:
        _check(options)
        try:
            plan, left_out = _plan(options)
            experiment = self._experiment(plan, is_resumed=options["resume"])
        except (PlanError, UnknownSuiteTask) as error:
            raise CommandError(str(error)) from None
        if left_out and not options["json"]:
            names = ", ".join(map(short_name, left_out))
            self.stderr.write(f"Left out ({len(left_out)}, --include-excluded runs them): {names}")
        is_over = self._carry_out(experiment, takes_part=not options["workers"])
        if options["draw"]:
            self._draw(experiment, options["draw"], options["draw_seed"])
        tables = suite_tables(experiment)
        as_json = write_document(experiment.name, tables, "json")
        if options["out"]:
            write_files(Path(), {options["out"]: as_json})
        if options["json"]:
            self.stdout.write(as_json, ending="")
        else:
            self.stdout.write("\n".join(map(write_text, tables)), ending="")
        if not is_over:
            to_go = active_runs(experiment).count()
            raise CommandError(
                f"Stopped with {to_go} runs to go. The same command goes on.", returncode=130
            )

    def _experiment(self, plan: Plan, *, is_resumed: bool) -> Experiment:
        """The experiment of that plan, launched unless it was before."""
        if is_resumed and not Experiment.objects.filter(token=plan.token).exists():
            raise CommandError(f"There is nothing to go on with: {plan.name} was never launched.")
        launched = launch_experiment(plan=plan, token=plan.token, user=None)
        if not launched.is_new:
            resume_experiment(experiment=launched.experiment)
        news = f"{plan.n_runs} runs" if launched.is_new else "goes on"
        self.stderr.write(f"{plan.name} (experiment {launched.experiment.pk}): {news}")
        return launched.experiment

    def _draw(self, experiment: Experiment, size: int, seed: int | None) -> None:
        """A sample of the failures of each configuration."""
        for agent in AgentConfiguration.objects.filter(runs__experiment=experiment).distinct():
            try:
                sample = draw_sample(experiment=experiment, agent=agent, size=size, seed=seed)
            except NoFailuresError as error:
                self.stderr.write(str(error))
            else:
                drawn = sample.failures.count()
                self.stderr.write(f"Drew {drawn} of {sample.among} failures by seed {sample.seed}.")
        # The tables are printed next, whatever workers there are.
        propose_waiting(limit_s=math.inf)

    def _carry_out(self, experiment: Experiment, *, takes_part: bool) -> bool:
        """Whether all runs have ended. A first Ctrl-C lets the run under way end."""
        with interruptible() as signals, progress_bar() as progress:
            bar = progress.add_task("runs", total=None)
            return carry_out_experiment(
                experiment,
                takes_part=takes_part,
                should_stop=lambda: bool(signals),
                on_change=lambda: _show(progress, bar, experiment),
            )


def suite_tables(experiment: Experiment) -> list[Report]:
    """The experiment's tables of the suite, those without any row left out."""
    facts = Facts(whole_scope(experiment), ReportQuery(source=Source()))
    names = (name for name in EXPERIMENT.entries if name.startswith(OF_SUITE))
    made = (EXPERIMENT.make(name, facts) for name in names)
    return [report for report in made if report.rows]


def _check(options: dict[str, Any]) -> None:
    """Refuse what would only be found out once all runs have ended."""
    if options["max_steps"] < 1:
        raise CommandError(f"--max-steps {options['max_steps']}: it must be 1 or more.")
    seed, out = options["draw_seed"], options["out"]
    if seed is not None and not 0 <= seed < MAX_SEED:
        raise CommandError(f"--draw-seed {seed}: it must be from 0 to {MAX_SEED - 1}.")
    if out and (out.is_dir() or not os.access(out.parent, os.W_OK)):
        raise CommandError(f"{out} cannot be written.")


def _plan(options: dict[str, Any]) -> tuple[Plan, tuple[str, ...]]:
    """What is to run, and the tasks that are left out.

    Raises PlanError where the agent or the seeds are none. Raises UnknownSuiteTask where a task is
    none.
    """
    wanted = read_names(options["tasks"])
    run, left_out = suite_tasks(wanted, task_names(), with_excluded=options["include_excluded"])
    agent, seeds = read_agent(options["agent"]), seed_list(options["seeds"])
    which = "with excluded, " if options["include_excluded"] else ""
    name = options["name"] or (
        f"MiniWoB++ {options['agent']}: {','.join(wanted)}, {which}seeds {options['seeds']}"
    )
    plan = Plan(
        name=name[:LONGEST_NAME],
        tasks=tasks_of(Selection(task_set=TASK_SET, picked=run), None) if run else (),
        agents=(agent,),
        trials=len(seeds.given),
        seeds=seeds,
        max_steps=options["max_steps"],
    )
    return plan, left_out


def _show(progress: Progress, bar: TaskID, experiment: Experiment) -> None:
    last = Run.objects.filter(experiment=experiment).latest_attempts()
    total, to_go = last.count(), active_runs(experiment).count()
    solved = last.filter(reward__gt=0).count()
    words = f"{solved} solved of {total - to_go}"
    progress.update(bar, total=total, completed=total - to_go, description=words)
