"""What tells that a hostile file was executed."""

from __future__ import annotations

from pathlib import Path

import pytest

MARKER = "/tmp/crosscheck_pickle_ran"  # noqa: S108 it must never appear


@pytest.fixture(autouse=True)
def unmarked() -> None:
    """What a broken reader left behind accuses no later run."""
    Path(MARKER).unlink(missing_ok=True)
