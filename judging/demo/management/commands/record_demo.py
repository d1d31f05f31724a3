"""Record the demo's runs afresh: real agents in a real browser, then three small files."""

import tempfile
import time
import uuid
from collections import deque
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging.demo import EXPERIMENT, Entry, hinted, read_plan, recovery
from judging.demo.lessons import write_lessons
from judging.demo.pictures import put_in, shrink
from judging.demo.services import SHIPPED, import_shipped, shipped_runs
from runs.exports.services import export_runs
from runs.launching.experiments.hint_plans import launch_hint_experiment
from runs.launching.experiments.services import launch_experiment
from runs.launching.reruns.services import queue_run
from runs.launching.running import execute, execute_next
from runs.models import Run
from webagent.agents.registry import register_agent
from webagent.environment.browser import end_own_browsers
from webagent.trajectory.records import StepRecord

SEED = 1
"""Nothing on the sites is drawn by lot."""
PARTS = ("study", "recovery", "hints")


class Command(BaseCommand):
    """For whoever changes an agent or the plan; users never need it. Wants an empty database."""

    help = "Record the runs of the demo into the files that are shipped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--out", type=Path, help="folder for the files, instead of the demo's")
        parser.add_argument(
            "--task", default="", help="only tasks of the study with this in them; others stay"
        )
        parser.add_argument("--only", choices=PARTS, help="one experiment; the others stay")

    def handle(self, *args: Any, out: Path | None, task: str, only: str, **options: Any) -> None:
        if Run.objects.exists():
            raise CommandError("There are runs here already: set DATA_DIR to an empty folder.")
        parts = [only] if only else ["study"] if task else PARTS
        if "study" in parts:
            for entry in read_plan():
                if task in entry.task:
                    self._record(entry)
            self._write(EXPERIMENT, out, beside_shipped=bool(task))
        if "recovery" in parts:
            self._record_recovery()
            self._write(recovery.NAME, out)
        if "hints" in parts:
            if "study" not in parts:
                deque(import_shipped(EXPERIMENT), maxlen=0)
            self._record_hints()
            self._write(hinted.NAME, out)

    def _write(self, experiment: str, folder: Path | None, *, beside_shipped: bool = False) -> None:
        file = SHIPPED[experiment]
        out = folder / file.name if folder else file
        runs = Run.objects.filter(experiment__name=experiment)
        with tempfile.TemporaryDirectory(dir=out.parent) as kept:
            recorded = Path(kept) / file.name
            export_runs(recorded, runs)
            shrink(recorded)
            if beside_shipped:
                put_in(recorded, file, out)
            else:
                recorded.replace(out)
        self.stdout.write(f"{runs.count()} runs, {out.stat().st_size / 1e6:.2f} MB: {out}")

    def _record(self, entry: Entry) -> None:
        run = queue_run(
            task=entry.name,
            agent=entry.agent,
            agent_config=entry.config,
            seed=SEED,
            max_steps=entry.max_steps,
            experiment=EXPERIMENT,
        )
        self._carry_out(run, crash_after=entry.crash_after)

    def _record_recovery(self) -> None:
        """The experiment, as its page would launch it; stubs answer for the models."""
        register_agent(recovery.stubbed_generic())
        plan = recovery.plan_of(recovery.demo_policy())
        launch_experiment(plan=plan, token=uuid.uuid4(), user=None)
        self._carry_out_all()

    def _record_hints(self) -> None:
        """Hints are written from the study's runs, and every condition is launched."""
        runs = shipped_runs()
        write_lessons(runs, None)
        plan = hinted.plan_of(runs)
        launch_hint_experiment(plan=plan, token=uuid.uuid4(), user=None)
        self._carry_out_all()

    def _carry_out_all(self) -> None:
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
