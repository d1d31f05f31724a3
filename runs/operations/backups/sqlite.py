"""Rows of SQLite: copied page by page while others write, by its own means."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from django.db import connection

from runs.operations.backups.contract import BackupError

FILE = "rows.sqlite3"


class SqliteDump:
    """The database as one file."""

    def dump(self, folder: Path) -> dict[str, int]:
        with (
            closing(sqlite3.connect(_source())) as source,
            closing(sqlite3.connect(folder / FILE)) as copy,
        ):
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
            _demand_whole(copy)
            return _rows(copy)

    def restore(self, folder: Path) -> None:
        file = folder / FILE
        if not file.is_file():
            raise BackupError(f"{file} is not there")
        connection.close()
        # Through SQLite itself, so that its journal and whoever has it open see the change.
        with (
            closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as copy,
            closing(sqlite3.connect(_source())) as target,
        ):
            _demand_whole(copy)
            copy.backup(target)


def _source() -> str:
    return str(connection.settings_dict["NAME"])


def _demand_whole(database: sqlite3.Connection) -> None:
    (word,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if word != "ok":
        raise BackupError(f"SQLite finds its file damaged: {word}")


def _rows(database: sqlite3.Connection) -> dict[str, int]:
    names = database.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    )
    return {
        name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608 (from the schema)
        for (name,) in sorted(names.fetchall())
    }
