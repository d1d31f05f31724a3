"""Ask a policy which runs it would run again, and run them."""

import json
import uuid
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet

from runs.interface.terminal import experiment_named
from runs.launching.policies.rerun_plans import Planned, RerunPlan, launch_by_policy, plan_reruns
from runs.launching.policies.rerun_views import estimate_reruns
from runs.launching.reruns.services import RerunError
from runs.models import RetryPolicy, Run
from runs.models.extension import extension


class Command(BaseCommand):
    """Whoever may give commands is blinded to nothing."""

    help = "Queue the reruns that a policy asks for, and say why."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--policy", required=True, metavar="NAME[@VERSION]")
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--study", type=int, help="number")
        source.add_argument("--experiment", help="name")
        source.add_argument("--runs", nargs="+", type=UUID, metavar="ID")
        parser.add_argument("--dry-run", action="store_true", help="queue nothing")
        parser.add_argument("--token", type=UUID, help="launches once")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        policy = named_policy(options["policy"])
        if policy is None:
            raise CommandError("--policy needs a name")
        runs = _chosen(options).filter(superseded=False)
        plan = plan_reruns(policy, runs, None)
        self._say(plan, as_json=options["json"])
        if not options["dry_run"]:
            self._launch(policy, runs, options["token"] or uuid.uuid4())

    def _say(self, plan: RerunPlan, *, as_json: bool) -> None:
        expected = estimate_reruns(plan, None)
        if as_json:
            said = {
                "policy": str(plan.policy),
                "runs": [_summary(row) for row in plan.rows],
                "reruns": len(plan.reruns),
                "estimate": expected.to_json() if expected else None,
            }
            self.stdout.write(json.dumps(said, indent=2))
            return
        for row in plan.rows:
            line = f"{row.run.pk}  {row.run.task.external_id}  {row.words}"
            self.stdout.write(f"{line}: {row.rule_words}" if row.rule else line)
        self.stdout.write(f"{len(plan.reruns)} of {len(plan.rows)} runs would be rerun.")
        if expected is not None and expected.wall_seconds is not None:
            cost = "unknown" if expected.cost is None else f"${expected.cost:.2f}"
            self.stdout.write(f"About {expected.wall_seconds:.0f} s; cost: {cost}.")

    def _launch(self, policy: RetryPolicy, runs: QuerySet[Run], token: UUID) -> None:
        try:
            launched = launch_by_policy(policy=policy, runs=runs, token=token, user=None)
        except RerunError as error:
            raise CommandError(str(error)) from None
        self.stderr.write(f"{len(launched.runs)} runs are queued.")


def named_policy(words: str) -> RetryPolicy | None:
    """The policy `NAME@VERSION`, or the last version of `NAME`; None for no words.

    Raises:
        CommandError: there is none; the message lists those that there are.
    """
    if not words:
        return None
    policy = RetryPolicy.objects.named(words)
    if policy is None:
        known = ", ".join(str(each) for each in RetryPolicy.objects.latest_versions()) or "none"
        raise CommandError(f"There is no retry policy {words!r}. There are: {known}.")
    return policy


def _chosen(options: dict[str, Any]) -> QuerySet[Run]:
    """The runs that are meant. Raises CommandError if there is no such study or experiment."""
    if options["runs"]:
        return Run.objects.filter(pk__in=options["runs"])
    if options["experiment"]:
        return Run.objects.filter(experiment=experiment_named(options["experiment"]))
    found = extension().judgements.runs_of_study(options["study"], None)
    if found is None:
        raise CommandError(f"There is no study {options['study']}.")
    return found


def _summary(row: Planned) -> dict[str, Any]:
    return {
        "run": str(row.run.pk),
        "task": row.run.task.external_id,
        "answer": row.answer.value,
        "rule": row.rule_words or None,
        "reruns_so_far": row.made,
    }
