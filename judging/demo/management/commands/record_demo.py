"""Record the demo's runs afresh: real agents in a real browser, then three small files."""

import hashlib
import io
import tempfile
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from PIL import Image

from judging.demo import EXPERIMENT, Entry, hinted, read_plan, recovery
from judging.demo.services import SHIPPED, import_shipped, shipped_runs
from runs.exports.services import export_runs, replacing
from runs.launching.experiments.hint_plans import launch_hint_experiment
from runs.launching.experiments.services import launch_experiment
from runs.launching.reruns.services import queue_run
from runs.launching.running import execute, execute_next
from runs.models import Run
from webagent.agents.registry import register_agent
from webagent.environment.browser import end_own_browsers
from webagent.trajectory.blobs import BlobSource
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.native.writer import write_zip
from webagent.trajectory.reading import open_runs
from webagent.trajectory.records import StepRecord

SEED = 1
"""Nothing on the sites is drawn by lot."""
PARTS = ("study", "recovery", "hints")
COLOURS = 48
"""Of shipped pictures; plain pages have no more anyway."""


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
        hinted.write_lessons(runs, None)
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


def shrink(archive: Path) -> None:
    """Write the archive anew, with smaller screenshots of the same size in pixels."""
    with open_runs(archive) as recorded:
        _write(archive, map(_smaller, _readable(recorded)))


def put_in(recorded: Path, shipped: Path, out: Path) -> None:
    """Write the shipped runs, with those of recorded tasks in the place of theirs.

    All others stay as they are, to the byte.
    """
    with open_runs(recorded) as new, open_runs(shipped) as old:
        _write(out, _replaced(_readable(old), _readable(new)))


def _replaced(shipped: Iterable[RunBundle], recorded: Iterable[RunBundle]) -> Iterator[RunBundle]:
    """In the order of the shipped runs, so that what is recorded together stands not together."""
    runs: defaultdict[str, deque[RunBundle]] = defaultdict(deque)
    for bundle in recorded:
        runs[bundle.task.id].append(bundle)
    for bundle in shipped:
        if bundle.task.id not in runs:
            yield bundle
        elif runs[bundle.task.id]:
            yield runs[bundle.task.id].popleft()
    yield from chain.from_iterable(runs.values())


def _write(out: Path, runs: Iterable[RunBundle]) -> None:
    with replacing(out) as unfinished:
        write_zip(unfinished, runs)


def _readable(source: Iterable[object]) -> Iterator[RunBundle]:
    for item in source:
        if not isinstance(item, RunBundle):
            raise TypeError(f"not a run that can be read: {item}")
        yield item


def _smaller(run: RunBundle) -> RunBundle:
    blobs = _Pictures(run.blobs)
    steps = tuple(
        StepRecord.model_validate(blobs.replaced(step.model_dump(mode="json")))
        for step in run.steps
    )
    return replace(run, steps=steps, blobs=blobs)


class _Pictures:
    """The blobs of a run, its pictures among them in fewer colours."""

    def __init__(self, source: BlobSource) -> None:
        self._source = source
        self._made: dict[str, bytes] = {}
        self._known: dict[str, str] = {}

    def read(self, sha256: str) -> bytes:
        return self._made.get(sha256) or self._source.read(sha256)

    def replaced(self, value: Any) -> Any:
        """The record with the smaller picture's hash and length wherever a picture is named."""
        if isinstance(value, list):
            return [self.replaced(each) for each in value]
        if not isinstance(value, dict):
            return value
        if value.get("media_type") == "image/png" and "sha256" in value:
            sha256 = self._small(value["sha256"])
            return value | {"sha256": sha256, "bytes": len(self._made[sha256])}
        return {key: self.replaced(each) for key, each in value.items()}

    def _small(self, sha256: str) -> str:
        if sha256 not in self._known:
            content = _in_few_colours(self._source.read(sha256))
            self._known[sha256] = hashlib.sha256(content).hexdigest()
            self._made[self._known[sha256]] = content
        return self._known[sha256]


def _in_few_colours(content: bytes) -> bytes:
    out = io.BytesIO()
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()
