"""The invariants of this app."""

from __future__ import annotations

from collections.abc import Iterator

from runs.operations.integrity.contract import Invariant
from runs.operations.integrity.leased_work import leased_work
from runs.operations.integrity.run_rows import run_rows
from runs.operations.integrity.run_states import run_states


def invariants() -> Iterator[Invariant]:
    """What holds of runs, their rows, and work in the background."""
    yield from run_states()
    yield from run_rows()
    yield from leased_work()
