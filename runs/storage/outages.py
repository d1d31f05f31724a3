"""What is away for a while or full, seen from the error that came of it."""

from __future__ import annotations

import errno
from enum import Enum, auto

from django.db import DatabaseError, InterfaceError, OperationalError

from runs.storage.file_storage import StoreUnavailableError

RETRY_AFTER_S = 5
"""How long to wait before one asks again."""

FULL = ("disk is full", "no space left on device", "disk quota exceeded")
"""What SQLite, PostgreSQL and systems say where there is no room."""


class Outage(Enum):
    """What is missing. Nothing was stored of what broke on it."""

    ROOM = auto()
    DATABASE = auto()
    FILES = auto()


def outage(error: BaseException | None) -> Outage | None:
    """What was missing; None where the error has another cause."""
    if is_of_full_disk(error):
        return Outage.ROOM
    if isinstance(error, StoreUnavailableError):
        return Outage.FILES
    if isinstance(error, OperationalError | InterfaceError):
        return Outage.DATABASE
    return None


def is_of_full_disk(error: BaseException | None) -> bool:
    """Whether the error says that there is no room left."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    said = str(error).lower()
    return isinstance(error, DatabaseError) and any(words in said for words in FULL)
