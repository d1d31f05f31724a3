"""What is looked at after every fault: all rows, and all files with their hashes."""

from __future__ import annotations

from pathlib import Path

from django.core.files.storage import storages
from django.test import override_settings

from runs.integrity.checking import violations
from tests.runs.stores import STATIC


def what_is_wrong(data_dir: Path | None = None) -> list[str]:
    """Every violation, as `manage.py check_integrity --hashes` finds them.

    Args:
        data_dir: that of the site that was broken; None: the tests' own.
    """
    if data_dir is None:
        return [str(violation) for violation in violations(hashes=True)]
    options = {"location": str(data_dir / "blobs")}
    store = {"BACKEND": "runs.storage.BlobFileStorage", "OPTIONS": options}
    with override_settings(STORAGES={"default": store, **STATIC}):
        storages["default"]
        return [str(violation) for violation in violations(hashes=True)]


def everything_holds(data_dir: Path | None = None) -> None:
    """Fails with every violation there is."""
    assert what_is_wrong(data_dir) == []
