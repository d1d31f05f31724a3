"""Steps go to the database one by one, as they happen."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction

from runs.blobs import UNKNOWN_TYPE, BlobBatch
from runs.execution.leases import Lease
from runs.models import Attachment, Step
from runs.records import attachment_rows, step_row
from webagent.trajectory.bundles import blobs_of
from webagent.trajectory.records import StepRecord

T = TypeVar("T")

WRITERS = 3
"""Files written at a time: picture, tree and what a model was asked wait for the same disk."""


class StepStore:
    """The sink of a run's steps: fenced, so that a worker that lost the run writes nothing."""

    def __init__(self, lease: Lease, on_step: Callable[[StepRecord], None] | None = None) -> None:
        self.steps: list[StepRecord] = []
        self._lease = lease
        self._on_step = on_step
        self._stored: set[str] = set()

    @property
    def n_screenshots(self) -> int:
        """How many observations have a picture."""
        observations = [seen for step in self.steps for seen in (step.before, step.after) if seen]
        return sum(seen.screenshot is not None for seen in observations)

    def __call__(self, record: StepRecord, blobs: Mapping[str, bytes]) -> None:
        """Store one step with its files, or the new state of one that is stored already.

        Raises:
            LeaseLostError: the run is no longer ours; nothing of the step is stored.
        """
        if record.index < len(self.steps):
            self.steps[record.index] = record
            patiently(lambda: self._restate(record))
            return
        # A page that did not change, and a prompt's fixed parts, are there already.
        new = {sha256: blobs[sha256] for sha256 in blobs.keys() - self._stored}
        batch = _written(record, new)
        self.steps.append(record)
        patiently(lambda: self._store(record, batch))
        self._stored |= new.keys()
        if self._on_step is not None:
            self._on_step(record)

    @transaction.atomic
    def _store(self, record: StepRecord, batch: BlobBatch) -> None:
        self._lease.renew(n_steps=len(self.steps), n_screenshots=self.n_screenshots)
        run_id = self._lease.run_id
        if Step.objects.filter(run_id=run_id, index=record.index).exists():
            return  # An earlier try was committed before its answer got lost.
        batch.save()
        row = step_row(run_id, record)
        row.save(force_insert=True)
        Attachment.objects.bulk_create(attachment_rows(run_id, record, row))

    @transaction.atomic
    def _restate(self, record: StepRecord) -> None:
        self._lease.renew(n_steps=len(self.steps), n_screenshots=self.n_screenshots)
        row = step_row(self._lease.run_id, record)
        Step.objects.filter(run_id=row.run_id, index=row.index).update(
            state=row.state, record=row.record
        )


def _written(record: StepRecord, blobs: Mapping[str, bytes]) -> BlobBatch:
    """Their files; the rows are still to be saved."""
    batch = BlobBatch()
    media_types = {blob.sha256: blob.media_type for blob in blobs_of(record)}
    with ThreadPoolExecutor(max_workers=WRITERS) as writers:
        under_way = [
            writers.submit(batch.add, content, media_types.get(sha256, UNKNOWN_TYPE))
            for sha256, content in blobs.items()
        ]
    for written in under_way:
        written.result()
    return batch


def patiently(write: Callable[[], T]) -> T:
    """What the write returns, tried again while the database is away, for as long as a lease.

    The write must be a transaction that is safe to repeat.
    """
    deadline = time.monotonic() + settings.ENV.LEASE_S
    while True:
        try:
            return write()
        except (OperationalError, InterfaceError):
            if time.monotonic() > deadline or connection.in_atomic_block:
                raise
            connection.close()
            time.sleep(1)
