"""Record the demo's runs afresh: real agents in a real browser, then one file."""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging.demo import RUNS_FILE, read_plan
from judging.demo.recovery import RECOVERY_FILE, demo_policy, plan_of, stubbed_generic
from runs.exports.services import export_runs
from runs.launching.experiments.services import launch_experiment
from runs.launching.reruns.services import queue_run
from runs.launching.running import execute, execute_next
from runs.models import Run
from webagent.agents.registry import register_agent
from webagent.environment.browser import end_own_browsers
from webagent.trajectory.records import StepRecord


class Command(BaseCommand):
    """For whoever changes an agent or the plan; users never need it. Wants an empty database."""

    help = "Record the runs of the demo into the files that are shipped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("part", choices=["studies", "recovery"])
        parser.add_argument("--out", type=Path, help="instead of the shipped file")

    def handle(self, *args: Any, **options: Any) -> None:
        if Run.objects.exists():
            raise CommandError("There are runs here already: set DATA_DIR to an empty folder.")
        if options["part"] == "studies":
            self._record_studies()
            out = options["out"] or RUNS_FILE
        else:
            self._record_recovery()
            out = options["out"] or RECOVERY_FILE
        export_runs(out, Run.objects.all())
        size = out.stat().st_size
        self.stdout.write(f"{Run.objects.count()} runs, {size / 1e6:.2f} MB: {out}")

    def _record_studies(self) -> None:
        for entry in read_plan():
            run = queue_run(
                task=entry["task"],
                agent=entry["agent"],
                agent_config=entry["config"],
                seed=entry["seed"],
                max_steps=entry.get("max_steps"),
                experiment=entry["experiment"],
            )
            self._carry_out(run, crash_after=entry.get("crash_after"))

    def _record_recovery(self) -> None:
        """The experiment, as its page would launch it; stubs answer for the models."""
        register_agent(stubbed_generic())
        plan = plan_of(demo_policy())
        launch_experiment(plan=plan, token=uuid.uuid4(), user=None)
        while execute_next():
            self._show(Run.objects.latest("ended_at"))

    def _carry_out(self, run: Run, crash_after: int | None) -> None:
        """Until an attempt ends well; where the plan says so, the first one loses its browser."""

        def kill_browser(step: StepRecord) -> None:
            if step.index == crash_after:
                end_own_browsers()

        while not execute(run.pk, on_step=kill_browser):
            time.sleep(1)  # a further attempt is not due at once
        self._show(Run.objects.get(pk=run.pk))
        later = Run.objects.filter(retry_of=run).first()
        if later is not None:
            self._carry_out(later, crash_after=None)

    def _show(self, run: Run) -> None:
        self.stdout.write(
            f"{run.task.external_id}: {run.agent.model or run.agent.name}, {run.outcome},"
            f" {run.end_reason}, {run.n_steps} steps, answer {run.final_answer!r}"
            f" {run.error_message}"
        )
