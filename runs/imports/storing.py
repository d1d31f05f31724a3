"""Storing runs that were read: each all or nothing, twice as good as once."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from uuid import UUID

from django.db import DatabaseError, IntegrityError, transaction

from runs.imports.reading_ahead import ReadingAhead, ReadRun, can_read_ahead
from runs.imports.rows import (
    columns_of,
    insert_parts,
    is_stored,
    made_whole,
    make_way,
    n_bytes,
    new_attachments,
    parts_of,
    problems_with,
    stored_run,
    with_verdicts,
)
from runs.imports.session import ImportSession, write_files
from runs.imports.together import REFUSALS, companions, store_together
from runs.models import Experiment, ImportJob, Run, User
from runs.models.extension import extension
from runs.storage.blobs import BlobBatch, known_hashes
from runs.storage.file_storage import is_of_full_disk
from runs.storage.links import free_key, stub_for
from runs.storage.usage import QuotaError, demand_room
from webagent.trajectory.blobs import BlobError, BlobStash
from webagent.trajectory.bundles import RunBundle, n_taken, stub_key
from webagent.trajectory.intake import InputError, Problem

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
    is_archived: bool = False
    """It was here before, and is in no list."""


def import_runs(
    found: Iterable[RunBundle | Problem],
    *,
    experiment_name: str | None = None,
    user: User | None = None,
    thumbnails_follow: bool = False,
    job: ImportJob | None = None,
) -> Iterator[ImportedRun | Problem]:
    """Store every run as it is read; what cannot be stored comes out as a `Rejection`."""
    session = ImportSession(
        user=user, thumbnails_follow=thumbnails_follow, tells_together=True, job=job
    )

    def wanted(bundles: Sequence[RunBundle]) -> list[set[str] | Exception]:
        try:
            unknown = _unknown(bundles)
            return [_wanted(each, unknown, experiment_name, session) for each in bundles]
        except DatabaseError as error:
            return [error for _ in bundles]

    ahead = None
    if can_read_ahead(found):
        ahead = ReadingAhead(found, wanted, thumbnails_follow=thumbnails_follow)
    try:
        with ahead or nullcontext():
            for some in ahead or (
                [item if isinstance(item, Problem) else ReadRun(item)] for item in found
            ):
                yield from _import_some(some, experiment_name, session, ahead)
    finally:
        session.close()
        transaction.on_commit(session.tell)


def _import_some(
    some: Sequence[ReadRun | Problem],
    experiment_name: str | None,
    session: ImportSession,
    ahead: ReadingAhead | None,
) -> Iterator[ImportedRun | Problem]:
    """What becomes of each, in their order."""
    n_done = 0
    for _, those in groupby(some, partial(companions, name=experiment_name, session=session)):
        runs = list(those)
        if together := store_together(runs, experiment_name, session):
            for stored in together:
                yield _imported(*stored)
            n_done += len(runs)
            continue
        for item in runs:
            if isinstance(item, Problem):
                yield item
            else:
                try:
                    yield _import_one(item, experiment_name, session)
                except ConflictError as error:
                    if ahead and ahead.read_inline(n_done):
                        return
                    yield error.rejection(item.bundle.source, item.bundle.source)
            n_done += 1


def _import_one(
    run: ReadRun, experiment_name: str | None, session: ImportSession
) -> ImportedRun | Problem:
    bundle = run.bundle
    try:
        return import_bundle(bundle, run.files, experiment_name=experiment_name, session=session)
    except ConflictError:
        raise
    except StoringError as error:
        return error.rejection(bundle.source, bundle.source)
    finally:
        if isinstance(bundle.blobs, BlobStash):
            bundle.blobs.close()


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
    for tries_left in reversed(range(TRIES)):
        try:
            if isinstance(files, Exception):
                raise files
            if files is None:
                _demand_room(bundle, session.limited(experiment_name or bundle.run.experiment))
                blobs = _write_blobs(bundle, session)
            else:
                blobs = files
            with transaction.atomic():
                run, is_new, was_stub = _store(bundle, blobs, experiment_name, session)
                session.links.connect(run.pk, bundle.run)
                problems = problems_with(run, bundle, was_stub=was_stub)
            break
        except IntegrityError as error:
            # Another import stored the same run, task or agent first: look again.
            session.forget()
            if not tries_left:
                raise ConflictError("", f"the database refused it: {error}") from error
        except REFUSALS as error:
            session.forget()
            raise _explained(error) from error
    session.links.remember(run.pk, bundle.run)
    return _imported(run, bundle, blobs, problems, is_new=is_new, was_stub=was_stub)


def _imported(
    run: Run,
    bundle: RunBundle,
    blobs: BlobBatch,
    problems: Sequence[Problem],
    *,
    is_new: bool = True,
    was_stub: bool = False,
) -> ImportedRun:
    return ImportedRun(
        source=bundle.source,
        id_in_file=bundle.run.id,
        run_id=run.pk,
        is_new=is_new,
        is_stub=run.is_stub,
        was_stub=was_stub,
        is_archived=run.archived_at is not None,
        n_steps=len(bundle.steps),
        n_screenshots=bundle.n_screenshots,
        n_labels=n_taken(bundle.labels, problems),
        n_evaluations=n_taken(bundle.evaluations, problems),
        n_gaps=sum(gap.count or 1 for gap in bundle.run.gaps),
        n_dropped=len(bundle.run.source.dropped),
        n_redacted=sum(bundle.run.source.redacted.values()),
        problems=(*bundle.problems, *_undecodable(bundle, blobs), *problems),
    )


def _write_blobs(bundle: RunBundle, session: ImportSession) -> BlobBatch:
    """Write the files of blobs that are new. Before the transaction: files take time."""
    batch = BlobBatch(thumbnails_follow=session.thumbnails_follow)
    write_files(bundle, _unknown([bundle]), batch, session.writers).sync()
    return batch


def _wanted(
    bundle: RunBundle, unknown: set[str], experiment_name: str | None, session: ImportSession
) -> set[str] | Exception:
    """Those of its files that are to be written; why none, where it may not come."""
    try:
        _demand_room(bundle, session.limited(experiment_name or bundle.run.experiment))
    except QuotaError as error:
        return error
    return {blob.sha256 for blob in bundle.blob_records()} & unknown


def _unknown(bundles: Iterable[RunBundle]) -> set[str]:
    hashes = {blob.sha256 for bundle in bundles for blob in bundle.blob_records()}
    return hashes - known_hashes(hashes)


def _store(
    bundle: RunBundle, blobs: BlobBatch, experiment_name: str | None, session: ImportSession
) -> tuple[Run, bool, bool]:
    """The run, whether it is new here, and whether it was a stub."""
    if stored := stored_run(bundle, bundle.content_hash):
        if not stored.is_stub:
            transaction.on_commit(partial(session.met, stored))
        return stored, False, False
    blobs.save()
    experiment = experiment_name or bundle.run.experiment
    part, said = make_way(bundle, experiment, session.user) or (None, None)
    if part:
        session.forget()
    stub = None if part else stub_for(bundle)
    columns = columns_of(bundle, experiment_name, session)
    if stub:
        run = made_whole(stub, columns)
    else:
        run_id = part.pk if part else free_key(Run, bundle.run.id)
        key = part.stub_key if part else stub_key(bundle.run.stub) if bundle.run.stub else None
        is_stub = bundle.run.stub is not None
        run = Run(id=run_id, created_by=session.user, is_stub=is_stub, stub_key=key, **columns)
        run.save(force_insert=True)
    parts = parts_of(run.pk, bundle)
    insert_parts([replace(parts, attachments=new_attachments(run, parts.attachments))])
    session.brought((run.pk, bundle))
    if not run.is_stub:
        transaction.on_commit(partial(session.stored, run.pk))
    if said:
        extension().verdicts.store(run, with_verdicts(bundle, said))
    return run, True, stub is not None


def _demand_room(bundle: RunBundle, experiment: Experiment | None) -> None:
    """Raises QuotaError before any file is written; whoever stores the row asks once more."""
    if experiment and not is_stored(bundle):
        demand_room(experiment, n_runs=1, n_bytes=n_bytes(bundle))


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
