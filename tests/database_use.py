"""Which database a test meets: none, SQLite, PostgreSQL, or SQLite and PostgreSQL in turn.

A test that uses no database runs once. One that uses it runs on both, unless it says why not:

    @pytest.mark.sqlite_only("tests what pages show")
    @pytest.mark.postgresql_only("slow, and alike on both")

A test in a browser that uses it runs on SQLite alone. Without `--database`, every test runs on
whatever database the settings name.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

# Every other fixture of a database asks for one of these.
DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "django_db_setup"}
NONE, SQLITE, POSTGRESQL = "none", "sqlite", "postgresql"
MARKS = {SQLITE: "sqlite_only", POSTGRESQL: "postgresql_only"}
# No test of a file meets a database that names none of these.
_NAMES_DATABASE = re.compile(r"django_db|\b(?:worker|db|transactional_db|live_server|kept_rows)\b")
_OF_WHOLE_FILE = re.compile(r"^pytestmark = (\[[^\]]*\]|.*)", re.MULTILINE)
_MARK = re.compile(r"\bpytest\.mark\.(\w+)")
_LEFT_OUT = re.compile(r"\bnot (\w+)")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database",
        action="append",
        choices=(NONE, *MARKS),
        help="run only the tests that meet this database, to which DATABASE_URL must lead; with"
        f" `--database={NONE}` those that use none, too",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file of which no test is wanted need not be imported, unless it is asked for by name."""
    if not collection_path.match("test_*.py") or any(
        Path(named.partition("::")[0]).absolute() == collection_path for named in config.args
    ):
        return None
    source = collection_path.read_text(encoding="utf-8")
    database = set(config.getoption("database") or ())
    expression = config.getoption("markexpr")
    if database == {POSTGRESQL} and not may_meet_postgresql(source):
        return True
    return True if is_left_out(marks_of_file(source), expression, database) else None


def marks_of_file(source: str) -> set[str]:
    """The names of the marks that every test of the file has."""
    of_all = _OF_WHOLE_FILE.search(source)
    return set(_MARK.findall(of_all[1])) if of_all else set()


def is_left_out(marks: set[str], expression: str, wanted: set[str]) -> bool:
    """Whether no test with these marks is among those of `-m` and `--database`."""
    is_list = "(" not in expression and " or " not in expression
    if is_list and not marks.isdisjoint(_LEFT_OUT.findall(expression)):
        return True
    return bool(wanted) and POSTGRESQL not in wanted and {"django_db", "postgresql_only"} <= marks


def may_meet_postgresql(source: str) -> bool:
    """False only where the words of a file say so; where all are collected, that is checked."""
    return bool(_NAMES_DATABASE.search(source)) and "sqlite_only" not in marks_of_file(source)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for path in {item.path for item in items if POSTGRESQL in databases_of(item)}:
        if not may_meet_postgresql(path.read_text(encoding="utf-8")):
            raise pytest.UsageError(f"{path}: some test meets PostgreSQL, but no word says so")
    wanted = set(config.getoption("database") or ())
    if not wanted:
        return
    if others := wanted & set(MARKS) - {connection.vendor}:
        raise pytest.UsageError(
            f"--database={others.pop()}, but DATABASE_URL is {connection.vendor}"
        )
    meets = {item: not wanted.isdisjoint(databases_of(item)) for item in items}
    config.hook.pytest_deselected(items=[item for item in items if not meets[item]])
    items[:] = [item for item in items if meets[item]]


def uses_database(item: pytest.Item) -> bool:
    """Whether the test, or what it starts, reads or writes the database."""
    marked = any(item.get_closest_marker(name) for name in ("django_db", "worker"))
    return marked or not DATABASE_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


def databases_of(item: pytest.Item) -> set[str]:
    """The databases that the test meets.

    Raises:
        pytest.UsageError: its marks contradict each other, or give no reason.
    """
    named = set(_named(item))
    if len(named) > 1:
        raise pytest.UsageError(f"{item.nodeid} is for one database only, and for the other only")
    if not uses_database(item):
        return {NONE}
    if not named and item.get_closest_marker("browser"):
        return {SQLITE}
    return named or set(MARKS)


def _named(item: pytest.Item) -> Iterator[str]:
    for database, name in MARKS.items():
        for mark in item.iter_markers(name):
            if len(mark.args) != 1:
                raise pytest.UsageError(f"{item.nodeid}: {name} takes one argument, the reason")
            yield database
