"""Have an agent try a task here and now, in the foreground."""

import json
import signal
import threading
import time
from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from runs.launching.management.commands.rerun_by_policy import named_policy
from runs.launching.reruns.services import RerunError, queue_run
from runs.launching.running import carry_out, execute
from runs.models import Run
from runs.queue.leases import Lease, claim
from webagent.trajectory.records import StepRecord

POLL_S = 0.5


class Command(BaseCommand):
    """Goes the very way that reruns in the background go: queued, claimed, carried out."""

    help = "Run an agent on a task here. Exit code 1 if a run ends in an error."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--task", required=True, help="such as miniwob.click-test")
        parser.add_argument("--agent", required=True, help="such as oracle")
        parser.add_argument("--agent-config", type=_json_object, default={}, metavar="JSON")
        parser.add_argument("--seed", type=int, help="of the first trial, counting up")
        parser.add_argument("--trials", type=int, default=1)
        parser.add_argument("--experiment", default="", help="to put them in")
        parser.add_argument("--max-steps", type=int)
        parser.add_argument("--policy", default="", metavar="NAME[@VERSION]")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["trials"] < 1:
            raise CommandError("--trials must be 1 or more")
        interrupted = threading.Event()
        before = signal.signal(signal.SIGINT, lambda *_: interrupted.set())
        ended = []
        try:
            for trial in range(1, options["trials"] + 1):
                if interrupted.is_set():
                    break
                ended.append(self._carry_out(_queue(trial, options), interrupted))
                self._say(ended[-1], is_quiet=options["json"])
        finally:
            signal.signal(signal.SIGINT, before)
        if options["json"]:
            self.stdout.write(json.dumps([_summary(run) for run in ended], indent=2))
        if interrupted.is_set():
            raise CommandError("Interrupted.", returncode=130)
        if any(run.outcome == Run.Outcome.ERROR for run in ended):
            raise CommandError("A run ended in an error.", returncode=1)

    def _carry_out(self, claimed: tuple[Run, Lease], interrupted: threading.Event) -> Run:
        """The last attempt, ended. A later attempt that a background worker took is waited for."""
        run, lease = claimed
        should_stop = interrupted.is_set
        carry_out(run, lease, on_step=partial(self._progress, run), should_stop=should_stop)
        while True:
            run = Run.objects.select_related("task", "agent").get(pk=run.pk)
            later = Run.objects.filter(retry_of=run).select_related("task").first()
            if later is not None and not interrupted.is_set():
                self.stderr.write(f"\n{run.error_message} — trying again")
                run = later
            elif not run.is_active or interrupted.is_set():
                return run
            if not execute(run.pk, on_step=partial(self._progress, run), should_stop=should_stop):
                time.sleep(POLL_S)

    def _progress(self, run: Run, step: StepRecord) -> None:
        action = "; ".join(str(action.raw) for action in step.actions) or "—"
        line = f"{run.task.external_id} step {step.index + 1} of {run.max_steps}: {action}"
        ending = "" if self.stderr.isatty() else "\n"
        self.stderr.write(f"\r\033[K{line[:110]}" if not ending else line[:200], ending=ending)

    def _say(self, run: Run, *, is_quiet: bool) -> None:
        if self.stderr.isatty():
            self.stderr.write("\r\033[K", ending="")
        if not is_quiet:
            text = (
                f"{run.pk}  {run.task.external_id}  {run.agent.name}  seed {run.seed}"
                f"  {run.outcome} ({run.end_reason}) after {run.n_steps} steps,"
                f" {run.seconds or 0:.1f} s"
            )
            self.stdout.write(f"{text}: {run.error_message}" if run.error_message else text)


@transaction.atomic
def _queue(trial: int, options: dict[str, Any]) -> tuple[Run, Lease]:
    """A new run, ours before any worker can see it."""
    try:
        run = queue_run(
            task=options["task"],
            agent=options["agent"],
            agent_config=options["agent_config"],
            seed=None if options["seed"] is None else options["seed"] + trial - 1,
            trial=trial,
            max_steps=options["max_steps"],
            experiment=options["experiment"],
            policy=named_policy(options["policy"]),
        )
    except RerunError as error:
        raise CommandError(str(error)) from None
    claimed = claim(run.pk)
    if claimed is None:
        raise CommandError(f"The experiment {options['experiment']} is paused. Resume it first.")
    return claimed


def _summary(run: Run) -> dict[str, Any]:
    return {
        "run": str(run.pk),
        "task": run.task.external_id,
        "agent": run.agent.name,
        "seed": run.seed,
        "trial": run.trial,
        "attempt": run.attempt,
        "outcome": run.outcome,
        "end_reason": run.end_reason,
        "reward": run.reward,
        "steps": run.n_steps,
        "seconds": run.seconds,
        "error": run.error_message or None,
    }


def _json_object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value
