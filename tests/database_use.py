"""Which database a test meets: none, SQLite, PostgreSQL, or SQLite and PostgreSQL in turn.

A test that uses no database runs once. One that uses it runs on both, unless it says why not:

    @pytest.mark.sqlite_only("tests what pages show")
    @pytest.mark.postgresql_only("slow, and alike on both")

A test in a browser that uses it runs on SQLite alone. Without `--database`, every test runs on
whatever database the settings name.
"""

from collections.abc import Iterator

import pytest
from django.db import connection

# Every other fixture of a database asks for one of these.
DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "django_db_setup"}
NONE, SQLITE, POSTGRESQL = "none", "sqlite", "postgresql"
MARKS = {SQLITE: "sqlite_only", POSTGRESQL: "postgresql_only"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database",
        action="append",
        choices=(NONE, *MARKS),
        help="run only the tests that meet this database, to which DATABASE_URL must lead; with"
        f" `--database={NONE}` those that use none, too",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
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
