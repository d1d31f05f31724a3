"""Writing the files of a run that is imported."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from runs.storage.blobs import BlobBatch
from webagent.trajectory.bundles import RunBundle

WRITERS = 4
"""Files written at a time, which mostly waits for the disk."""
FILES_IN_TURN = 4
LARGE_BYTES = 1_000_000
"""A thread is handed so many small files at once, for handing over takes its time too."""


def write_files(
    bundle: RunBundle, wanted: Iterable[str], batch: BlobBatch, writers: ThreadPoolExecutor
) -> BlobBatch:
    """Write those files of a run, a few at a time, so that they outlive a crash of the machine.

    Raises what reading or writing one of them raises.
    """
    media_types = {blob.sha256: blob.media_type for blob in bundle.blob_records()}
    under_way: deque[Future[None]] = deque()

    def write(some: list[tuple[bytes, str, str]]) -> None:
        for each in some:
            batch.add(*each)

    def begin(some: list[tuple[bytes, str, str]]) -> None:
        if len(under_way) == WRITERS:
            under_way.popleft().result()
        under_way.append(writers.submit(write, some))

    try:
        some: list[tuple[bytes, str, str]] = []
        for sha256 in wanted:
            content = bundle.read_blob(sha256)
            some.append((content, media_types[sha256], sha256))
            if len(some) == FILES_IN_TURN or len(content) > LARGE_BYTES:
                begin(some)
                some = []
        if some:
            begin(some)
        while under_way:
            under_way.popleft().result()
    finally:
        for each in under_way:
            each.exception()
    batch.sync()
    return batch
