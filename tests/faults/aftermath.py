"""What is looked at after every fault: all rows, and all files with their hashes."""

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.test import override_settings

from runs.operations.integrity import checks
from tests.runs.storage.stores import STATIC

BY_HAND = "it has finished without a content hash"
"""So are the runs that tests make by hand."""
SECOND_LOOK_S = 3


def what_is_wrong(data_dir: Path | None = None) -> list[str]:
    """Every violation, as `manage.py check_integrity --hashes` finds them in rows and files.

    Constraints are lost by restores and migrations alone, whose tests look for them: reading them
    takes as long as ten other checks.

    Args:
        data_dir: that of the site that was broken; None: the tests' own.
    """
    _constraints, *of_rows_and_files = checks(hashes=True)
    with override_settings(STORAGES=store_of(data_dir)) if data_dir else nullcontext():
        return [str(violation) for check in of_rows_and_files for violation in check]


def store_of(data_dir: Path) -> dict[str, dict[str, Any]]:
    """The setting STORAGES of a site that keeps its files there."""
    options = {"location": str(data_dir / "blobs")}
    return {
        "default": {"BACKEND": "runs.storage.file_storage.BlobFileStorage", "OPTIONS": options},
        **STATIC,
    }


def everything_holds(data_dir: Path | None = None) -> None:
    """Fails with every violation that stays, but for what tests make by hand.

    Workers may still be at work, and many queries see no one moment: what is wrong for good is
    wrong at a second look.
    """
    wrong = _wrong(data_dir)
    if wrong:
        time.sleep(SECOND_LOOK_S)
        wrong = [words for words in _wrong(data_dir) if words in wrong]
    assert not wrong, "\n".join(wrong)


def _wrong(data_dir: Path | None) -> list[str]:
    return [words for words in what_is_wrong(data_dir) if not words.endswith(BY_HAND)]
