"""A zip inside a folder or zip, opened without unpacking it; none inside that one."""

from __future__ import annotations

import tempfile
import weakref
from typing import IO, BinaryIO, cast

from webagent.trajectory.archives import ZipTree
from webagent.trajectory.bounds import BoundError, Bounds
from webagent.trajectory.trees import READ_CHUNK, READ_ERRORS, Tree, TreeError

ZIP_MAGIC = b"PK\x03\x04"


def holds_zip(tree: Tree, name: str) -> bool:
    """Whether the first bytes of a file are those of a zip."""
    try:
        with tree.open(name) as stream:
            return stream.read(len(ZIP_MAGIC)) == ZIP_MAGIC
    except (TreeError, *READ_ERRORS):
        return False


def open_inner(tree: Tree, name: str, bounds: Bounds) -> ZipTree:
    """The zip that lies under a name of the tree; its copy goes when nobody holds it any more.

    Raises:
        BoundError: larger than a member may be, or a bomb.
        TreeError: damaged.
    """
    # A zip is read from its end, which a compressed member of another zip does not allow.
    copy = cast(BinaryIO, tempfile.TemporaryFile(prefix="crosscheck-"))  # noqa: SIM115 (closed below)
    try:
        _copy(tree, name, copy, bounds.member_bytes)
        inner = ZipTree(copy, bounds, f"{tree.label}/{name}")
    except BaseException:
        copy.close()
        raise
    weakref.finalize(inner, copy.close)
    return inner


def _copy(tree: Tree, name: str, copy: IO[bytes], limit: int) -> None:
    total = 0
    with tree.open(name) as stream:
        while True:
            try:
                chunk = stream.read(READ_CHUNK)
            except READ_ERRORS as error:
                raise TreeError(f"damaged: {error}") from error
            if not chunk:
                return
            total += len(chunk)
            if total > limit:
                raise BoundError(f"more than {limit} bytes")
            copy.write(chunk)
