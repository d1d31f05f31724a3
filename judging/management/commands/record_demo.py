"""Record the demo's runs afresh: real agents in a real browser, then one file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging.demo import RUNS_FILE, read_plan
from runs.execution.running import execute
from runs.models import Run
from runs.services.exporting import export_runs
from runs.services.reruns import queue_run
from webagent.environment.leftovers import end_own_browsers
from webagent.trajectory.records import StepRecord


class Command(BaseCommand):
    """For whoever changes an agent or the plan; users never need it. Wants an empty database."""

    help = "Record the runs of the demo study and write them to the file that is shipped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--out", type=Path, default=RUNS_FILE)

    def handle(self, *args: Any, **options: Any) -> None:
        if Run.objects.exists():
            raise CommandError("There are runs here already: set DATA_DIR to an empty folder.")
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
        export_runs(options["out"], Run.objects.all())
        size = options["out"].stat().st_size
        self.stdout.write(f"{Run.objects.count()} runs, {size / 1e6:.2f} MB: {options['out']}")

    def _carry_out(self, run: Run, crash_after: int | None) -> None:
        """Until an attempt ends well; where the plan says so, the first one loses its browser."""

        def kill_browser(step: StepRecord) -> None:
            if step.index == crash_after:
                end_own_browsers()

        while not execute(run.pk, on_step=kill_browser):
            time.sleep(1)  # a further attempt is not due at once
        run = Run.objects.select_related("task").get(pk=run.pk)
        self.stdout.write(
            f"{run.task.external_id}: {run.outcome}, {run.end_reason}, {run.n_steps} steps, "
            f"answer {run.final_answer!r} {run.error_message}"
        )
        later = Run.objects.filter(retry_of=run).first()
        if later is not None:
            self._carry_out(later, crash_after=None)
