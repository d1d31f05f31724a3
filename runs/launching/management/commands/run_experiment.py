"""Plan an experiment, tell what it takes, and launch it."""

import json
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Count

from runs.launching.experiments.estimates import Estimate, estimate
from runs.launching.experiments.plans import Plan, read_agent, read_seeds
from runs.launching.experiments.selection import (
    PlanError,
    Selection,
    read_budgets,
    read_names,
    read_step_limits,
    tasks_of,
    with_arms,
)
from runs.launching.experiments.services import active_runs, launch_experiment, plan_problem
from runs.launching.management.commands.rerun_by_policy import named_policy
from runs.models import Experiment, ExperimentState, Run, RunStatus, User

POLL_S = 1.0


class Command(BaseCommand):
    """Queues the runs for the workers; `--wait` stays until they have ended."""

    help = (
        "Launch every agent at every task, once for each trial. A repeated command launches "
        "once. Exit code 1: not launched; with --wait also: a run ended in an error or the "
        "experiment was cancelled."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_plan_arguments(parser, trials=1)
        parser.add_argument("--kind", action="append", default=[], help="of evaluation; repeatable")
        parser.add_argument("--infeasible", action="store_true", help="also infeasible tasks")
        parser.add_argument(
            "--agent", action="append", required=True, metavar="KIND[:JSON]", help="repeatable"
        )
        parser.add_argument("--policy", default="", metavar="NAME[@VERSION]")
        parser.add_argument("--background", action="store_true", help="when nothing else waits")
        parser.add_argument("--wait-for-sites", action="store_true", help="instead of refusing")
        parser.add_argument("--user", default="", help="owner")
        parser.add_argument("--dry-run", action="store_true", help="only estimate")
        parser.add_argument("--wait", action="store_true", help="for all runs")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = _user(options["user"])
            plan = read_plan(options, options["agent"], user)
            if options["dry_run"]:
                self._print(plan, estimate(plan, user), is_json=options["json"])
                return
            launched = launch_experiment(plan=plan, token=plan.token, user=user)
        except PlanError as error:
            raise CommandError(str(error)) from None
        experiment = launched.experiment
        if not options["json"]:
            news = f"{plan.n_runs} runs are queued" if launched.is_new else "was launched before"
            self.stdout.write(f"{experiment.name}: {news}.")
            if experiment.state == ExperimentState.WAITING:
                self.stdout.write(f"It waits for its sites: {experiment.waits_because}")
        if options["wait"]:
            self._wait(experiment, is_quiet=options["json"])
        said = _summary(experiment) | {"is_new": launched.is_new}
        if options["json"]:
            self.stdout.write(json.dumps(said, indent=2))
        if options["wait"] and (said["errors"] or said["cancelled"]):
            raise CommandError(
                f"{said['errors']} runs ended in an error, {said['cancelled']} were cancelled.",
                returncode=1,
            )

    def _print(self, plan: Plan, found: Estimate, *, is_json: bool) -> None:
        problem = plan_problem(plan)
        if is_json:
            self.stdout.write(json.dumps(found.to_json() | {"problem": problem}, indent=2))
        else:
            for line in _words_of(plan, found):
                self.stdout.write(line)
        if problem:
            raise CommandError(problem)

    def _wait(self, experiment: Experiment, *, is_quiet: bool) -> None:
        """Wait until no run is left, also while the experiment is paused."""
        shown = ""
        while active := active_runs(experiment).count():
            line = f"{active} runs to go"
            if line != shown and not is_quiet:
                self.stderr.write(line)
                shown = line
            time.sleep(POLL_S)


def _user(name: str) -> User | None:
    if not name:
        return None
    if found := User.objects.filter(username=name).first():
        return found
    raise CommandError(f"There is no account {name}.")


def add_plan_arguments(parser: ArgumentParser, *, trials: int) -> None:
    """What every plan of an experiment takes.

    Args:
        trials: how many there are where the command line names none.
    """
    parser.add_argument("--name", required=True)
    parser.add_argument("--task-set", required=True, help='such as miniwob or "webarena raw"')
    parser.add_argument("--site", action="append", default=[], help="repeatable")
    parser.add_argument("--tasks", default="", help="ids between commas")
    parser.add_argument("--trials", type=int, default=trials)
    parser.add_argument("--seeds", default="", help="0-2 or 4,8,15 or 7+ or random (default)")
    parser.add_argument(
        "--max-steps", default="", help="30, or 10,20,30: each agent under every limit"
    )
    parser.add_argument(
        "--knowledge-tokens",
        default="",
        help="budget of web knowledge: 6000, or 6000,none for each agent with it under both",
    )
    parser.add_argument("--parallelism", type=int, help="runs at a time")


def read_plan(options: dict[str, Any], agents: Sequence[str], user: User | None) -> Plan:
    """The plan that the options describe. What a command has no option for keeps its default.

    Raises:
        PlanError: it cannot be planned like this.
        CommandError: a number is out of range, or there is no such policy.
    """
    if options["trials"] < 1:
        raise CommandError("--trials must be 1 or more")
    limits = read_step_limits(str(options["max_steps"] or ""))
    selection = Selection(
        task_set=options["task_set"],
        sites=options["site"],
        kinds=options.get("kind", ()),
        picked=read_names(options["tasks"]),
        feasible_only=not options.get("infeasible", False),
    )
    return Plan(
        name=options["name"],
        tasks=tasks_of(selection, user),
        agents=with_arms(
            tuple(map(read_agent, agents)),
            step_limits=limits,
            budgets=read_budgets(options["knowledge_tokens"]),
        ),
        trials=options["trials"],
        seeds=read_seeds(options["seeds"], options["trials"]),
        max_steps=limits[0] if len(limits) == 1 else None,
        has_limits=len(limits) > 1,
        policy=named_policy(options.get("policy", "")),
        parallelism=options["parallelism"],
        in_background=options.get("background", False),
        waits_for_sites=options.get("wait_for_sites", False),
    )


def _summary(experiment: Experiment) -> dict[str, Any]:
    """What became of its trials, each by its last attempt."""
    last = Run.objects.filter(experiment=experiment).latest_attempts().order_by()
    outcomes = dict(last.values_list("outcome").annotate(n=Count("pk")))
    statuses = dict(last.values_list("status").annotate(n=Count("pk")))
    return {
        "experiment": experiment.pk,
        "name": experiment.name,
        "state": experiment.state,
        "runs": sum(statuses.values()),
        "statuses": statuses,
        "outcomes": outcomes,
        "errors": outcomes.get(Run.Outcome.ERROR, 0),
        "cancelled": statuses.get(RunStatus.CANCELLED, 0),
    }


def _words_of(plan: Plan, found: Estimate) -> list[str]:
    lines = [
        f"{plan.n_runs} runs: {len(plan.tasks)} tasks × {len(plan.agents)} agents"
        f" × {plan.trials} trials"
    ]
    for each in found.agents:
        named = f"{each.agent.name} ({each.arm})" if each.arm else each.agent.name
        words = [f"  {named}: {each.n_runs} runs"]
        if each.seconds:
            words.append(
                f"{each.seconds.median:.1f} s each (half of them {each.seconds.low:.1f} to"
                f" {each.seconds.high:.1f} s; {each.seconds.n} past runs, {each.basis})"
            )
        else:
            words.append("time unknown")
        cost = f"${each.cost.median:.4f} each" if each.model and each.cost else each.cost_words
        lines.append(", ".join([*words, f"cost {cost}" if each.model else cost]))
    if found.wall_seconds is None:
        lines.append("Time: unknown, none of these agents has run before")
    else:
        least = "" if found.is_time_complete else "at least "
        lines.append(
            f"Time: {least}about {found.wall_seconds:.0f} s with {found.browsers} browsers"
        )
    least = "" if found.is_cost_complete else "at least "
    cost = "unknown" if found.cost is None else f"{least}about ${found.cost:.2f}"
    lines.append(f"Cost: {cost}")
    if most := found.ceiling:
        price = "" if most.dollars is None else f", about ${most.dollars:.2f}"
        lines.append(f"Retry policy: at most {most.attempts} attempts{price}")
    return lines
