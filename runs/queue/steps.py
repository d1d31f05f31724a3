"""A run while it is carried out: its steps are stored as they happen, and it stays claimed."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from django.conf import settings
from django.core.exceptions import SynchronousOnlyOperation
from django.db import InterfaceError, InternalError, OperationalError, connection, transaction

from runs.models import Attachment, Blob, Step
from runs.queue.leases import Lease, LeaseLostError, LeaseRenewer
from runs.queue.workers import is_stopping
from runs.storage.blobs import UNKNOWN_TYPE, BlobBatch
from runs.storage.records import attachment_rows, step_row
from webagent.environment.browser import end_own_browsers
from webagent.process.children import forget_foreign_loop
from webagent.trajectory.bundles import blobs_of
from webagent.trajectory.records import StepRecord

T = TypeVar("T")

WRITERS = 3
"""Files written at a time: picture, tree and what a model was asked wait for the same disk."""


class Writing:
    """Files of one step on their way to the disk, side by side."""

    def __init__(self) -> None:
        self.begun: set[str] = set()
        self._batch = BlobBatch()
        self._writers = ThreadPoolExecutor(max_workers=WRITERS, thread_name_prefix="files")
        self._under_way: list[Future[Blob]] = []

    def begin(self, sha256: str, content: bytes, media_type: str) -> None:
        self.begun.add(sha256)
        self._under_way.append(self._writers.submit(self._batch.add, content, media_type))

    def finished(self) -> BlobBatch:
        """Once all are written: their rows, not saved yet. What went wrong with one is raised."""
        self._writers.shutdown()
        for written in self._under_way:
            written.result()
        return self._batch


class StepStore:
    """The sink of a run's steps: fenced, so that a worker that lost the run stores nothing.

    Files of what is seen before an action are written while the browser acts; the rows that name
    them follow with the step.
    """

    def __init__(self, lease: Lease, on_step: Callable[[StepRecord], None] | None = None) -> None:
        self.steps: list[StepRecord] = []
        self._lease = lease
        self._on_step = on_step
        self._stored: set[str] = set()
        self._writing = Writing()

    def foresee(self, blobs: Mapping[str, bytes], media_types: Mapping[str, str]) -> None:
        """Begin to write what the next step will name."""
        # A page that did not change, and a prompt's fixed parts, are there already.
        for sha256 in blobs.keys() - self._stored - self._writing.begun:
            self._writing.begin(sha256, blobs[sha256], media_types.get(sha256, UNKNOWN_TYPE))

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
            retry_write(lambda: self._restate(record))
            return
        self.foresee(blobs, {blob.sha256: blob.media_type for blob in blobs_of(record)})
        writing, self._writing = self._writing, Writing()
        batch = writing.finished()
        self.steps.append(record)
        retry_write(lambda: self._store(record, batch))
        self._stored |= writing.begun
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


AWAY = (OperationalError, InterfaceError, InternalError)
"""The last is what a process hears that froze in a transaction till the server ended it."""


def retry_write(write: Callable[[], T]) -> T:
    """What the write returns, tried again while the database is away, for as long as a lease.

    The write must be a transaction that is safe to repeat.
    """
    deadline = time.monotonic() + settings.ENV.LEASE_S
    while True:
        try:
            return write()
        except SynchronousOnlyOperation:
            if not forget_foreign_loop():
                raise
        except AWAY:
            if time.monotonic() > deadline or connection.in_atomic_block:
                raise
            connection.close()
            time.sleep(1)


GRACE_S = 180
"""How long a run may outlast its time limit (a last step, evidence, closing the browser)."""


class Heartbeat(LeaseRenewer):
    """Renews the lease of a run, and hears of its cancellation.

    Once the lease is lost, the browser is killed: whatever the run waits for ends at once.
    """

    def __init__(self, lease: Lease) -> None:
        self.is_cancelled = False
        self._lease = lease
        super().__init__(
            self._renew_run,
            lost=LeaseLostError,
            on_lost=end_own_browsers,
            limit_s=settings.ENV.RUN_TIME_LIMIT_S + GRACE_S,
        )

    def should_stop(self) -> bool:
        """Whether the run is to end now, because somebody or the worker's end asks for it.

        Raises:
            LeaseLostError: the run is no longer ours.
        """
        if self.is_lost:
            raise LeaseLostError(f"run {self._lease.run_id} was taken away")
        self.is_cancelled = self.is_cancelled or retry_write(self._lease.is_to_cancel)
        return self.is_cancelled or is_stopping()

    def _renew_run(self) -> None:
        self.is_cancelled = self._lease.renew() or self.is_cancelled
