"""How a full disk shows: in files, in SQLite, in PostgreSQL, in a store of files."""

from __future__ import annotations

import errno

from django.db import DatabaseError

WORDS = ("disk is full", "no space left on device", "disk quota exceeded")


def is_of_full_disk(error: BaseException | None) -> bool:
    """Whether the error says that there is no room left."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    said = str(error).lower()
    return isinstance(error, DatabaseError) and any(words in said for words in WORDS)
