"""Rows of a backup: PostgreSQL by pg_dump as of one moment, SQLite copied while others write."""

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from django.db import connection, transaction


class BackupError(Exception):
    """The backup or its return is impossible; the message says why."""


FOLDER = "rows"
TABLES_AT_A_TIME = 2


class PostgresqlDump:
    """The database as a folder of one compressed file a table."""

    def dump(self, folder: Path) -> dict[str, int]:
        """Write all rows as they are at one moment; how many each table has then."""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            # What is counted here and what is dumped there is the same moment.
            cursor.execute("SELECT pg_export_snapshot()")
            moment = str(cursor.fetchone()[0])
            _run(
                "pg_dump",
                *("--format=directory", f"--file={folder / FOLDER}", "--compress=1"),
                *(f"--jobs={TABLES_AT_A_TIME}", f"--snapshot={moment}"),
                *("--no-owner", "--no-privileges", f"--dbname={_address()}"),
            )
            return {
                name: count_rows(name) for name in sorted(connection.introspection.table_names())
            }

    def restore(self, folder: Path) -> None:
        """Replace everything in the database by what was dumped."""
        if not (folder / FOLDER).is_dir():
            raise BackupError(f"{folder / FOLDER} is not there")
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA public CASCADE")
            cursor.execute("CREATE SCHEMA public")
        connection.close()
        _run(
            "pg_restore",
            *("--exit-on-error", "--no-owner", "--no-privileges", f"--jobs={TABLES_AT_A_TIME}"),
            *(f"--dbname={_address()}", str(folder / FOLDER)),
        )
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")


def count_rows(table: str) -> int:
    """Rows of a table of ours."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608 (from the schema)
        return int(cursor.fetchone()[0])


def _address() -> str:
    """Where the database is, without the password: others see the arguments of programs."""
    told = connection.settings_dict
    user = f"{told['USER']}@" if told["USER"] else ""
    port = f":{told['PORT']}" if told["PORT"] else ""
    return f"postgresql://{user}{told['HOST'] or 'localhost'}{port}/{told['NAME']}"


def _run(program: str, *arguments: str) -> None:
    environment = {**os.environ, "PGPASSWORD": str(connection.settings_dict["PASSWORD"] or "")}
    ended = subprocess.run(
        [_find(program), *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise BackupError(f"{program}: {ended.stderr.strip()}")


def _find(name: str) -> str:
    """The program, also where Debian keeps it."""
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    found = str(debian[0]) if debian else shutil.which(name)
    if not found:
        raise BackupError(f"{name} is not installed (postgresql-client)")
    return found


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
