"""Counting what goes wrong with the store of files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from runs.storage.file_storage import StoreUnavailableError
from runs.telemetry.counters import storage_errors


@contextmanager
def storage_errors_counted(verb: str) -> Iterator[None]:
    """Counts what the store raises in the block, as failing to `verb`."""
    try:
        yield
    except (OSError, StoreUnavailableError):
        storage_errors.labels(verb).inc()
        raise
