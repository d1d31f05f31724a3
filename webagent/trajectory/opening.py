"""Open what was given: a folder, a zip, or what is left of a zip that was cut short."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from webagent.trajectory.archives import ZipTree
from webagent.trajectory.bounds import Bounds
from webagent.trajectory.cut_archives import CutZipTree, starts_like_zip
from webagent.trajectory.trees import FolderTree, Tree, TreeError


def open_tree(given: Path | BinaryIO, bounds: Bounds, label: str | None = None) -> Tree:
    """The files in a folder or zip.

    Raises:
        BoundError: more or larger than allowed.
        TreeError: neither a folder nor a zip, or not readable.
    """
    if isinstance(given, Path):
        label = label or given.resolve().name
        if given.is_dir():
            return FolderTree(given, bounds, label)
        if not given.is_file():
            raise TreeError("no such file or folder")
    label = label or "upload.zip"
    try:
        return ZipTree(given, bounds, label)
    except TreeError:
        if not starts_like_zip(given):
            raise
    return CutZipTree(given, bounds, label)
