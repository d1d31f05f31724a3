"""Which tests use the database."""

import pytest

# Every other fixture of a database asks for one of these.
DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "django_db_setup"}


def uses_database(item: pytest.Item) -> bool:
    """Whether the test, or what it starts, reads or writes the database."""
    marked = any(item.get_closest_marker(name) for name in ("django_db", "worker"))
    return marked or not DATABASE_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))
