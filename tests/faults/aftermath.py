"""What is looked at after every fault: all rows, and all files with their hashes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.test import override_settings

from runs.integrity.checking import violations
from tests.runs.stores import STATIC

BY_HAND = "it has finished without a content hash"
"""So are the runs that tests make by hand."""


def what_is_wrong(data_dir: Path | None = None) -> list[str]:
    """Every violation, as `manage.py check_integrity --hashes` finds them.

    Args:
        data_dir: that of the site that was broken; None: the tests' own.
    """
    if data_dir is None:
        return [str(violation) for violation in violations(hashes=True)]
    with override_settings(STORAGES=store_of(data_dir)):
        return [str(violation) for violation in violations(hashes=True)]


def store_of(data_dir: Path) -> dict[str, dict[str, Any]]:
    """The setting STORAGES of a site that keeps its files there."""
    options = {"location": str(data_dir / "blobs")}
    return {"default": {"BACKEND": "runs.storage.BlobFileStorage", "OPTIONS": options}, **STATIC}


def everything_holds(data_dir: Path | None = None) -> None:
    """Fails with every violation there is, but for what tests make by hand."""
    wrong = [words for words in what_is_wrong(data_dir) if not words.endswith(BY_HAND)]
    assert not wrong, "\n".join(wrong)
