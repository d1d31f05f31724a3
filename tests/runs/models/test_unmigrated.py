"""A command on a database that was never migrated says so, instead of showing a traceback."""

import runpy
import sys
from pathlib import Path

import pytest
from django.core import management
from django.db import DatabaseError, OperationalError
from django.db.utils import ConnectionHandler

from runs.operations.health import checks

MANAGE = Path(__file__).parents[3] / "manage.py"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """Run the command line, by an empty database in memory."""
    settings = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
    empty = ConnectionHandler({"default": settings})["default"]

    def command(_: object) -> None:
        with empty.cursor() as cursor:
            cursor.execute("SELECT 1 FROM runs_run")

    monkeypatch.setattr(sys, "argv", ["manage.py", *arguments])
    monkeypatch.setattr(checks, "connection", empty)
    monkeypatch.setattr(management, "execute_from_command_line", command)
    checks._is_migrated.cache_clear()
    try:
        runpy.run_path(str(MANAGE), run_name="__main__")
    finally:
        empty.close()


def test_it_is_one_plain_line(monkeypatch: pytest.MonkeyPatch, django_db_blocker) -> None:
    with django_db_blocker.unblock(), pytest.raises(SystemExit) as ended:
        run(monkeypatch, "check_integrity")
    said = str(ended.value.code)
    assert said.startswith("The database is not ready (no such table: runs_run): ")
    assert "Run `python manage.py migrate` first" in said
    assert "\n" not in said


@pytest.mark.parametrize("arguments", [("migrate",), ("check_integrity", "--traceback")])
def test_what_broke_is_shown_where_it_is_asked_for(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, django_db_blocker
) -> None:
    with django_db_blocker.unblock(), pytest.raises(OperationalError, match="no such table"):
        run(monkeypatch, *arguments)


@pytest.mark.django_db
def test_other_errors_stay_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def command(_: object) -> None:
        raise OperationalError("the disk is on fire")

    monkeypatch.setattr(sys, "argv", ["manage.py", "check_integrity"])
    monkeypatch.setattr(management, "execute_from_command_line", command)
    with pytest.raises(DatabaseError, match="on fire"):
        runpy.run_path(str(MANAGE), run_name="__main__")
