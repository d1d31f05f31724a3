"""Open what was given: a folder, a zip, what is left of one that was cut short, or one file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO

from webagent.trajectory.archives import ZipTree
from webagent.trajectory.bounds import Bounds
from webagent.trajectory.cut_archives import CutZipTree, starts_like_zip
from webagent.trajectory.lone_files import LoneFileTree, is_json
from webagent.trajectory.trees import FolderTree, Tree, TreeError


def open_tree(given: Path | BinaryIO, bounds: Bounds, label: str | None = None) -> Tree:
    """The files in a folder or zip; a JSON document stands alone in its tree.

    Raises:
        BoundError: more or larger than allowed.
        TreeError: neither a folder nor a zip nor a JSON document, or not readable.
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
    except TreeError as error:
        if not starts_like_zip(given):
            if is_json(given):
                return LoneFileTree(given, bounds, label)
            is_empty = _size(given) == 0
            why = "the file is empty" if is_empty else "neither a readable zip nor JSON"
            raise TreeError(why) from error
    return CutZipTree(given, bounds, label)


def _size(given: Path | BinaryIO) -> int:
    return given.stat().st_size if isinstance(given, Path) else given.seek(0, io.SEEK_END)
