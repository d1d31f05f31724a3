"""A connection to PostgreSQL that the server has ended is not used again."""

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
