"""New runs stored in one transaction, with one query of each kind for all.

A commit waits for the disk, and most of a run's time is Django building queries.
Runs that may concern others (parts, stubs, links, quotas) are for `storing.import_bundle`.
"""

import uuid
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from django.db import DatabaseError, transaction

from runs.imports.reading_ahead import ReadRun
from runs.imports.rows import columns_of, has_namesakes, insert_parts, parts_of, problems_with
from runs.imports.session import ImportSession
from runs.models import Run
from runs.storage.blobs import BlobBatch, save_together
from runs.storage.links import as_uuid, has_stubs_like
from runs.storage.usage import QuotaError
from webagent.trajectory.blobs import BlobError
from webagent.trajectory.bundles import RunBundle, names_of
from webagent.trajectory.intake import Problem

REFUSALS = (BlobError, OSError, DatabaseError, QuotaError)
"""Why a run may not be stored."""


class StoredRun(NamedTuple):
    """A new run that is here now, and what of its file could not be taken."""

    run: Run
    bundle: RunBundle
    blobs: BlobBatch
    problems: Sequence[Problem]


def companions(item: ReadRun | Problem, *, name: str | None, session: ImportSession) -> object:
    """A key that is equal for runs that may be stored together, and unique for any other."""
    if isinstance(item, Problem) or not isinstance(item.files, BlobBatch):
        return object()
    run = item.bundle.run
    experiment = name or run.experiment
    has_links = run.retry_of or run.rerun_of or run.superseded_by
    if run.stub or has_links or session.limited(experiment):
        return object()
    return (experiment,)


def store_together(
    items: Sequence[ReadRun | Problem], name: str | None, session: ImportSession
) -> list[StoredRun] | None:
    """Store these companions, all or none.

    Returns:
        None if one of them is not new, or was refused: each is to be stored by itself.
    """
    found = [
        (item.bundle, item.files)
        for item in items
        if isinstance(item, ReadRun) and isinstance(item.files, BlobBatch)
    ]
    if len(found) < 2:
        return None
    bundles = [bundle for bundle, _ in found]
    own = [as_uuid(bundle.run.id) for bundle in bundles]
    ids = [own_id or uuid.uuid4() for own_id in own]
    # Prepared beforehand: from here on nobody else can write to SQLite.
    parts = [parts_of(run_id, bundle) for run_id, bundle in zip(ids, bundles, strict=True)]
    hashes = {bundle.content_hash for bundle in bundles}
    try:
        with transaction.atomic():
            if not _are_new(bundles, hashes, {each for each in own if each}, name, session):
                return None
            save_together([files for _, files in found])
            runs = [
                Run(id=run_id, created_by=session.user, **columns_of(bundle, name, session))
                for run_id, bundle in zip(ids, bundles, strict=True)
            ]
            Run.objects.bulk_create(runs)
            insert_parts(parts)
            session.brought(*zip(ids, bundles, strict=True))
            stored = []
            for run, (bundle, files) in zip(runs, found, strict=True):
                session.links.connect(run.pk, bundle.run)
                problems = problems_with(run, bundle)
                stored.append(StoredRun(run, bundle, files, problems))
            transaction.on_commit(partial(session.stored, *ids))
    except REFUSALS:
        session.forget()
        return None
    for each in stored:
        session.links.remember(each.run.pk, each.bundle.run)
    return stored


def _are_new(
    bundles: Sequence[RunBundle],
    hashes: set[str],
    ids: set[uuid.UUID],
    name: str | None,
    session: ImportSession,
) -> bool:
    """Whether none is here, nor a part or a stub of one, nor another under the id of one."""
    names = [names_of(bundle) for bundle in bundles]
    experiment = name or bundles[0].run.experiment
    return (
        len(hashes) == len({bundle.run.id for bundle in bundles}) == len(bundles)
        and not Run.objects.filter(content_hash__in=hashes).exists()
        and not (ids and Run.objects.filter(pk__in=ids).exists())
        and not has_stubs_like(names)
        and not has_namesakes(bundles, experiment, session.user)
    )
