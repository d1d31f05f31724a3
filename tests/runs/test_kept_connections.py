"""A connection to PostgreSQL is used again without a question, and never one that has ended."""

from __future__ import annotations

import pytest
from django.db import connection, connections

from runs.models import User

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _kept_open() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no server that could end a connection")
    connection.ensure_connection()
    connection.close_if_unusable_or_obsolete()  # as at the beginning of each request


def test_one_that_stands_is_not_asked_whether_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(connections["default"], "is_usable", lambda: asked.append("again"))
    kept = connection.connection
    assert not User.objects.exists()
    assert connection.connection is kept
    assert not asked


def test_one_that_the_server_has_ended_is_replaced() -> None:
    kept = connection.connection
    another = connections.create_connection("default")
    try:
        with another.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [kept.info.backend_pid])
    finally:
        another.close()
    assert not User.objects.exists()
    assert connection.connection is not kept


def test_one_on_which_something_failed_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(connections["default"], "is_usable", lambda: asked.append("again"))
    connection.errors_occurred = True
    connection.close_if_unusable_or_obsolete()
    assert asked
