"""Rows of PostgreSQL: by pg_dump, several tables at a time, all as of one moment."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from django.db import connection, transaction

from runs.operations.backups.contract import BackupError

FOLDER = "rows"
TABLES_AT_A_TIME = 2


class PostgresqlDump:
    """The database as a folder of one compressed file a table."""

    def dump(self, folder: Path) -> dict[str, int]:
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
            return {name: _count(name) for name in sorted(connection.introspection.table_names())}

    def restore(self, folder: Path) -> None:
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


def _count(table: str) -> int:
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
        [_find(program), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
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
