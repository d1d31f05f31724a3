"""Storing runs that were read: one transaction each, all or nothing, twice as good as once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.db import DatabaseError, IntegrityError, transaction

from runs.catalogue.milestones.services import store_milestones
from runs.catalogue.tasks.rows import differs
from runs.exports.run_bundles import TASK_KEY, is_stored, stored_run
from runs.imports.completing import make_way, with_verdicts
from runs.imports.reading_ahead import ReadingAhead, ReadRun, can_read_ahead
from runs.imports.session import ImportSession, write_files
from runs.imports.stubs import made_whole, new_attachments
from runs.knowledge.hints.writing import store_hints
from runs.models import (
    Attachment,
    Event,
    Experiment,
    Run,
    RunStatus,
    Step,
    User,
)
from runs.models.extension import extension
from runs.models.policies import known_policy
from runs.storage.blobs import BlobBatch, known_hashes
from runs.storage.file_storage import is_of_full_disk
from runs.storage.links import free_key
from runs.storage.records import (
    EVALUATION_ROLE,
    attachment_rows,
    event_rows,
    run_columns,
    step_row,
    stored_json,
)
from runs.storage.stubs import stub_for
from runs.storage.usage import QuotaError, demand_room
from webagent.trajectory.bundles import (
    BlobError,
    BlobStash,
    InputError,
    Problem,
    RunBundle,
)
from webagent.trajectory.records import EndReason
from webagent.trajectory.stubs import stub_key

TRIES = 3


class StoringError(InputError):
    """A run could not be stored; nothing of it is in the database."""


class ConflictError(StoringError):
    """Others changed what the run refers to, each time anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """A run that is here now; `is_new` tells whether it was not before."""

    source: str
    id_in_file: str
    run_id: UUID
    is_new: bool
    n_steps: int
    n_screenshots: int
    problems: tuple[Problem, ...] = ()
    n_labels: int = 0
    n_evaluations: int = 0
    n_gaps: int = 0
    """Things that are missing or were not understood, as the run's record lists them."""
    n_dropped: int = 0
    n_redacted: int = 0
    """Secrets that were taken out."""
    is_stub: bool = False
    was_stub: bool = False
    """Its verdicts were here before, and now its trajectory is."""


class _Stored(NamedTuple):
    run: Run
    is_new: bool
    was_stub: bool = False


def import_runs(
    found: Iterable[RunBundle | Problem],
    *,
    experiment_name: str | None = None,
    user: User | None = None,
    thumbnails_follow: bool = False,
) -> Iterator[ImportedRun | Problem]:
    """Store every run as it is read; what cannot be stored comes out as a `Rejection`."""
    session = ImportSession(user=user, thumbnails_follow=thumbnails_follow, tells_together=True)

    def wanted(bundle: RunBundle) -> set[str]:
        _demand_room(bundle, session.limited(experiment_name or bundle.run.experiment))
        return _unknown(bundle)

    ahead = None
    if can_read_ahead(found):
        ahead = ReadingAhead(found, wanted, thumbnails_follow=thumbnails_follow)
    try:
        with ahead or nullcontext():
            for item in ahead or found:
                if isinstance(item, Problem):
                    yield item
                    continue
                run = item if isinstance(item, ReadRun) else ReadRun(item)
                bundle = run.bundle
                try:
                    yield import_bundle(
                        bundle, run.files, experiment_name=experiment_name, session=session
                    )
                except ConflictError as error:
                    if ahead is None or not ahead.read_inline():
                        yield error.rejection(bundle.source, bundle.source)
                except StoringError as error:
                    yield error.rejection(bundle.source, bundle.source)
                finally:
                    if isinstance(bundle.blobs, BlobStash):
                        bundle.blobs.close()
    finally:
        session.close()
        transaction.on_commit(session.tell)


def import_bundle(
    bundle: RunBundle,
    files: BlobBatch | Exception | None = None,
    *,
    experiment_name: str | None = None,
    user: User | None = None,
    session: ImportSession | None = None,
) -> ImportedRun:
    """Store one run with all that belongs to it.

    The same content is stored once, however often and by however many processes at a time.

    Args:
        files: those that are new, written already, or why they could not be.
        user: whose it is; with a session its user.
        session: of the runs that are imported with it.

    Raises:
        ConflictError: others changed the same rows again and again.
        StoringError: it cannot be stored, or the disk is full; the database is as before.
    """
    if session is None:
        with closing(ImportSession(user=user)) as own:
            return import_bundle(bundle, files, experiment_name=experiment_name, session=own)
    content_hash = bundle.content_hash
    for tries_left in reversed(range(TRIES)):
        try:
            if files is None:
                _demand_room(bundle, session.limited(experiment_name or bundle.run.experiment))
                blobs = _write_blobs(bundle, session)
            else:
                blobs = _written(files)
            with transaction.atomic():
                stored = _store(bundle, content_hash, blobs, experiment_name, session)
                run = stored.run
                session.links.connect(run.pk, bundle.run)
                problems = [
                    *store_milestones(run.task, bundle),
                    *store_hints(run, bundle),
                    *(extension().verdicts.completed(run, bundle) if stored.was_stub else ()),
                    *extension().verdicts.store(run, bundle),
                ]
            break
        except IntegrityError as error:
            # Another import stored the same run, task or agent first: look again.
            session.forget()
            if not tries_left:
                raise ConflictError("", f"the database refused it: {error}") from error
        except (BlobError, OSError, DatabaseError, QuotaError) as error:
            session.forget()
            raise _explained(error) from error
    session.links.remember(run.pk, bundle.run)
    return ImportedRun(
        source=bundle.source,
        id_in_file=bundle.run.id,
        run_id=run.pk,
        is_new=stored.is_new,
        is_stub=run.is_stub,
        was_stub=stored.was_stub,
        n_steps=len(bundle.steps),
        n_screenshots=bundle.n_screenshots,
        n_labels=len(bundle.labels),
        n_evaluations=len(bundle.evaluations),
        n_gaps=sum(gap.count or 1 for gap in bundle.run.gaps),
        n_dropped=len(bundle.run.source.dropped),
        n_redacted=sum(bundle.run.source.redacted.values()),
        problems=(*bundle.problems, *_undecodable(bundle, blobs), *problems),
    )


def _write_blobs(bundle: RunBundle, session: ImportSession) -> BlobBatch:
    """Write the files of blobs that are new. Before the transaction: files take time."""
    batch = BlobBatch(thumbnails_follow=session.thumbnails_follow)
    write_files(bundle, _unknown(bundle), batch, session.writers).sync()
    return batch


def _written(files: BlobBatch | Exception) -> BlobBatch:
    if isinstance(files, Exception):
        raise files
    return files


def _unknown(bundle: RunBundle) -> set[str]:
    hashes = {blob.sha256 for blob in bundle.blob_records()}
    return hashes - known_hashes(hashes)


def _store(
    bundle: RunBundle,
    content_hash: str,
    blobs: BlobBatch,
    experiment_name: str | None,
    session: ImportSession,
) -> _Stored:
    if stored := stored_run(bundle, content_hash):
        if not stored.is_stub:
            transaction.on_commit(partial(session.met, stored))
        return _Stored(stored, is_new=False)
    blobs.save()
    part = make_way(bundle, experiment_name or bundle.run.experiment, session.user)
    if part:
        session.forget()
    stub = None if part else stub_for(bundle)
    columns = _columns(bundle, content_hash, experiment_name, session)
    if stub:
        run = made_whole(stub, columns)
    else:
        run_id = part.run_id if part else free_key(Run, bundle.run.id)
        key = part.stub_key if part else stub_key(bundle.run.stub) if bundle.run.stub else None
        is_stub = bundle.run.stub is not None
        run = Run(id=run_id, created_by=session.user, is_stub=is_stub, stub_key=key, **columns)
        run.save(force_insert=True)
    steps = [step_row(run.pk, step) for step in bundle.steps]
    Step.objects.bulk_create(steps)
    Attachment.objects.bulk_create(new_attachments(run, _attachments(run.pk, bundle, steps)))
    Event.objects.bulk_create(event_rows(run.pk, bundle.run.events))
    if not run.is_stub:
        transaction.on_commit(partial(session.stored, run.pk))
    if part:
        extension().verdicts.store(run, with_verdicts(bundle, part.said))
    return _Stored(run, is_new=True, was_stub=stub is not None)


def _columns(
    bundle: RunBundle,
    content_hash: str,
    experiment_name: str | None,
    session: ImportSession,
) -> dict[str, Any]:
    # Milestones stand in rows of their own.
    described = bundle.task.model_copy(update={"milestones": None})
    task = session.task(described)
    columns = run_columns(bundle.run, described.goal)
    if differs(task, described):
        columns["record"][TASK_KEY] = stored_json(described)
    experiment = session.experiment(experiment_name or bundle.run.experiment)
    demand_room(experiment, n_runs=1, n_bytes=_n_bytes(bundle))
    cancelled = bundle.run.end_reason == EndReason.CANCELLED
    return {
        "task": task,
        "agent": session.agent(bundle.run),
        "experiment": experiment,
        "policy": known_policy(bundle.run.extra),
        "status": RunStatus.CANCELLED if cancelled else RunStatus.FINISHED,
        "n_steps": len(bundle.steps),
        "n_screenshots": bundle.n_screenshots,
        "content_hash": content_hash,
        **columns,
    }


def _demand_room(bundle: RunBundle, experiment: Experiment | None) -> None:
    """Raises QuotaError before any file is written; whoever stores the row asks once more."""
    if experiment and not is_stored(bundle):
        demand_room(experiment, n_runs=1, n_bytes=_n_bytes(bundle))


def _n_bytes(bundle: RunBundle) -> int:
    return sum({blob.sha256: blob.bytes for blob in bundle.blob_records()}.values())


def _attachments(run_id: UUID, bundle: RunBundle, steps: list[Step]) -> Iterator[Attachment]:
    yield from attachment_rows(run_id, bundle.task)
    yield from attachment_rows(run_id, bundle.run)
    for record, row in zip(bundle.steps, steps, strict=True):
        yield from attachment_rows(run_id, record, row)
    for evaluation in bundle.evaluations:
        for attachment in attachment_rows(run_id, evaluation):
            attachment.role = EVALUATION_ROLE
            yield attachment


def _undecodable(bundle: RunBundle, blobs: BlobBatch) -> Iterator[Problem]:
    for blob in bundle.blob_records():
        if reason := blobs.undecodable.get(blob.sha256):
            yield Problem(bundle.source, blob.name or blob.sha256, blob.role, reason)


def _explained(error: Exception) -> StoringError:
    if isinstance(error, QuotaError):
        return StoringError("experiment", str(error))
    if isinstance(error, BlobError):
        return StoringError("blobs", str(error))
    if is_of_full_disk(error):
        return StoringError("", "the disk is full")
    if isinstance(error, OSError):
        return StoringError("blobs", f"a file cannot be written: {error}")
    return StoringError("", f"the database cannot take it: {error}")
