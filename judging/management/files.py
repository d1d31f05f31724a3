"""Commands that write a folder of files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from django.core.management.base import CommandError


def write_files(out: Path, files: Mapping[Path, str]) -> int:
    """Write the texts into the folder, and say how many they are.

    Raises:
        CommandError: a file cannot be written.
    """
    for path, text in files.items():
        target = out / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # CSV brings its own line ends.
            target.write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise CommandError(f"{target} cannot be written: {error.strerror}") from error
    return len(files)
