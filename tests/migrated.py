"""The tests' SQLite database begins as a copy of one that was migrated before.

All migrations together take eight seconds of processor time, and every process of tests needs them.
The copy is kept in the virtual environment, under a name made from what migrations say and import.
Django finds nothing left to migrate in it, and sees to guards, groups and permissions as ever.
"""

import ast
import fcntl
import hashlib
import importlib.util
import inspect
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import django
import pytest
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from webagent.settings.base import database

ROOT = Path(__file__).parents[1]
FOLDER = Path(sys.prefix) / "migrated"
MOST_KEPT = 8
OURS = ("runs", "judging", "webagent")


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_modify_db_settings: None) -> bool:
    """Whether Django finds a migrated database there already."""
    if connection.vendor != "sqlite":
        return False
    return copy_migrated(Path(settings.DATABASES["default"]["TEST"]["NAME"]))


def copy_migrated(to: Path) -> bool:
    """Put a migrated SQLite database there; False without a virtual environment to keep it in."""
    if sys.prefix == sys.base_prefix:
        return False
    FOLDER.mkdir(exist_ok=True)
    kept = FOLDER / f"{_fingerprint()}.sqlite3"
    with _one_at_a_time():
        if not kept.exists():
            _make(kept)
    copy_sqlite(kept, to)
    return True


def _fingerprint() -> str:
    """Changes with any migration, with what they import from here, and with Django."""
    sources: dict[str, str] = {}
    for migration in MigrationLoader(None, ignore_no_migrations=True).disk_migrations.values():
        name = type(migration).__module__
        sources[name] = inspect.getsource(sys.modules[name])
        if name.startswith(OURS):
            sources |= {each: _source(each) for each in _imported(sources[name])}
    said = f"{django.__version__} {sqlite3.sqlite_version} {sorted(sources.items())}"
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _imported(source: str) -> Iterator[str]:
    """The modules of ours that it names."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(OURS):
            yield str(node.module)


def _source(name: str) -> str:
    found = importlib.util.find_spec(name)
    return Path(found.origin).read_text() if found and found.origin else ""


def _make(kept: Path) -> None:
    """Migrate an empty database, in a process of its own; the oldest of the others go."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"DATA_DIR": folder}
        environment["DJANGO_SETTINGS_MODULE"] = "webagent.settings.test"
        command = [sys.executable, "manage.py", "migrate", "--no-input", "--verbosity", "0"]
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
        part = kept.with_suffix(".part")
        copy_sqlite(Path(database(None, Path(folder))["NAME"]), part)
        part.rename(kept)
    by_age = sorted(FOLDER.glob("*.sqlite3"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in by_age[MOST_KEPT:]:
        old.unlink()


def copy_sqlite(whole: Path, to: Path) -> None:
    to.unlink(missing_ok=True)
    with closing(sqlite3.connect(whole)) as old, closing(sqlite3.connect(to)) as new:
        old.backup(new)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Processes that start together wait for the one that migrates."""
    with (FOLDER / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
