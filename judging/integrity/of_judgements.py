"""The invariants of this app."""

from __future__ import annotations

from collections.abc import Iterator

from judging.integrity.evaluations import batch_counters, evaluations
from judging.integrity.items import items
from judging.integrity.labels import labels
from judging.integrity.verdicts import verdicts
from runs.operations.integrity.contract import Invariant


def invariants() -> Iterator[Invariant]:
    """What holds of studies' runs, labels, reference verdicts and evaluations."""
    yield from items()
    yield from labels()
    yield from verdicts()
    yield from evaluations()
    yield from batch_counters()
