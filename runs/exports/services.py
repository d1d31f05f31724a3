"""Stored runs as the bundles they came in as, verdicts included, and as files of these.

Files are native or ATIF, for programs and for people with a limited view.
"""

import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from django.db.models import QuerySet

from runs.catalogue.milestones.services import milestone_records
from runs.catalogue.tasks.rows import task_record
from runs.knowledge.hints.of_runs import hint_records
from runs.models import Run, RunStatus, Task, User
from runs.models.extension import Verdicts, extension
from runs.models.runs.queries import RunQuerySet
from runs.storage.blobs import MissingBlobError, read_blob
from webagent.measures import batched
from webagent.trajectory.blobs import BlobError
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.formats.atif.writer import write_atif
from webagent.trajectory.formats.native.schema import Blinding, Manifest, without_answers
from webagent.trajectory.formats.native.writer import write_folder, write_zip
from webagent.trajectory.records import (
    AgentRecord,
    ErrorRecord,
    RunRecord,
    SourceRecord,
    TaskRecord,
    TextPart,
    Totals,
)
from webagent.trajectory.verdict_records import HintRecord

RUNS_AT_ONCE = 50
TASK_KEY = "task_record"
"""Key in `Run.record` for the run's own account of its task, where the task's row differs."""
OnRun = Callable[[], object]


class ExportFormat(StrEnum):
    """What runs can be written as."""

    NATIVE = "native"
    ATIF = "atif"


class StoredBlobs:
    """The bytes of blobs, out of the store."""

    def read(self, sha256: str) -> bytes:
        """The verified bytes of this hash. Raises BlobError."""
        try:
            content = read_blob(sha256)
            if hashlib.sha256(content).hexdigest() != sha256:
                raise MissingBlobError(f"the file of blob {sha256} is damaged")
        except MissingBlobError as error:
            raise BlobError(
                f"{error}; `manage.py check_blobs` lists all that is damaged"
            ) from error
        return content


def bundles_of(runs: QuerySet[Run]) -> Iterator[RunBundle]:
    """Every ended run, with steps and verdicts, in the order of the query; a few at a time."""
    related = ("task__task_set", "agent", "experiment", "retried_by")
    ended = runs.exclude(status__in=RunStatus.active()).select_related(*related)
    ended = ended.prefetch_related("task__milestones")
    for some in batched(ended.iterator(chunk_size=RUNS_AT_ONCE), RUNS_AT_ONCE):
        yield from _with_verdicts(some)


def bundle_of(
    run: Run, verdicts: Verdicts | None = None, hints: Sequence[HintRecord] = ()
) -> RunBundle:
    """One run as a bundle; its blobs are read when asked for."""
    said = verdicts or Verdicts()
    own = run.record.get(TASK_KEY)
    task = TaskRecord.model_validate(own) if own else task_record(run.task)
    task = task.model_copy(update={"milestones": milestone_records(run.task)})
    return RunBundle(
        source=str(run.pk),
        task=task,
        run=_run_record(run, task),
        steps=tuple(step.to_record() for step in run.steps.order_by("index").iterator()),
        evaluations=said.evaluations,
        labels=said.labels,
        adjudications=said.adjudications,
        hints=tuple(hints),
        blobs=StoredBlobs(),
    )


def _with_verdicts(runs: list[Run]) -> Iterator[RunBundle]:
    verdicts = extension().verdicts.export(runs)
    hints = hint_records(run.pk for run in runs)
    for run in runs:
        yield bundle_of(run, verdicts.get(run.pk), hints.get(run.pk, ()))


def _run_record(run: Run, task: TaskRecord) -> RunRecord:
    """The record as it came in, under the ids and in the place that the run has here."""
    stored = {key: value for key, value in run.record.items() if key != TASK_KEY}
    record = RunRecord.model_validate(stored) if stored else _record_of_columns(run, task)
    replaced_by = getattr(run, "retried_by", None) if run.superseded else None
    place: dict[str, Any] = {"id": str(run.pk), "task_id": task.id}
    if run.experiment:
        place["experiment"] = run.experiment.name
    if run.retry_of_id:
        place["retry_of"] = str(run.retry_of_id)
    if run.rerun_of_id:
        place["rerun_of"] = str(run.rerun_of_id)
    if replaced_by:
        place["superseded_by"] = str(replaced_by.pk)
    return record.model_copy(update=place)


def _record_of_columns(run: Run, task: TaskRecord) -> RunRecord:
    """For a run whose worker died before it could leave a record."""
    agent = run.agent
    error = ErrorRecord(message=run.error_message, origin=run.error_origin or "unknown")
    return RunRecord(
        id=str(run.pk),
        task_id=task.id,
        source=SourceRecord(format=run.source_format),
        agent=AgentRecord(
            name=agent.name, version=agent.version or None, config=agent.config or None
        ),
        models=tuple(agent.model_names),
        goal=(TextPart(text=run.goal),) if run.goal else (),
        seed=run.seed,
        trial=run.trial,
        attempt=run.attempt,
        started_at=run.started_at,
        ended_at=run.ended_at,
        outcome=run.outcome,
        end_reason=run.end_reason,
        reward=run.reward,
        final_answer=run.final_answer,
        final_url=run.final_url,
        error=error if run.error_message else None,
        totals=Totals(
            input_tokens=run.input_tokens,
            output_tokens=run.output_tokens,
            cost=run.cost,
            seconds=run.seconds,
        ),
        max_steps=run.max_steps,
        evidence=run.evidence,
    )


def export_runs(
    target: Path,
    runs: QuerySet[Run],
    *,
    blinding: Blinding | None = None,
    on_run: OnRun | None = None,
) -> Manifest:
    """Write the runs to a zip, or to a folder if the name does not end in `.zip`.

    The same runs give the same bytes, in whatever order they were stored. The file appears
    under its name only when it is whole.

    Raises:
        FileExistsError: the folder holds something already.
        BlobError: a blob is missing in the store.
    """
    bundles = _counted(bundles_of(runs.order_by("pk")), on_run)
    if target.suffix != ".zip":
        return write_folder(target, bundles, blinding=blinding)
    with replacing(target) as unfinished:
        return write_zip(unfinished, bundles, blinding=blinding)


def export_atif(
    target: Path,
    runs: QuerySet[Run],
    *,
    blinding: Blinding | None = None,
    on_run: OnRun | None = None,
) -> int:
    """The same as ATIF documents with their pictures; how many runs.

    Raises:
        FileExistsError: the folder holds something already.
        BlobError: a blob is missing in the store.
    """
    bundles = _counted(bundles_of(runs.order_by("pk")), on_run)
    if target.suffix != ".zip":
        return write_atif(target, bundles, blinding=blinding)
    with replacing(target) as unfinished, unfinished.open("wb") as file:
        return write_atif(file, bundles, blinding=blinding)


def export_for(
    user: User, target: BinaryIO, runs: RunQuerySet[Run], format: ExportFormat = ExportFormat.NATIVE
) -> None:
    """Write to an open, seekable file those of the runs that the person may see, as they may.

    Runs on which they are blind go out blind, and without names where those are hidden too. Of
    tasks that they still judge in other runs, nothing goes out that tells how to succeed.
    """
    shown = runs.visible_to(user)
    looks = list(shown.only("id"))
    blind = frozenset(run.pk for run in looks if run.is_blind)
    anonymous = frozenset(run.pk for run in looks if run.is_anonymous)
    of_sealed = shown.filter(Task.objects.is_sealed(user, "task")).order_by()
    sealed = frozenset(of_sealed.values_list("pk", flat=True))
    bundles = bundles_of(shown.order_by("pk"))
    shown_as = (_as_shown(bundle, blind, anonymous, sealed) for bundle in bundles)
    if format is ExportFormat.ATIF:
        write_atif(target, shown_as)
    else:
        write_zip(target, shown_as)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A path to write to; what stands there in the end takes the target's place at once."""
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        yield unfinished
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def _as_shown(
    bundle: RunBundle, blind: frozenset[UUID], anonymous: frozenset[UUID], sealed: frozenset[UUID]
) -> RunBundle:
    run_id = UUID(bundle.run.id)
    if run_id in blind or run_id in anonymous:
        return Blinding(hide_agent=run_id in anonymous).apply(bundle)
    if run_id in sealed:
        return replace(bundle, task=without_answers(bundle.task), hints=())
    return bundle


def _counted(bundles: Iterator[RunBundle], on_run: OnRun | None) -> Iterator[RunBundle]:
    for bundle in bundles:
        yield bundle
        if on_run:
            on_run()
