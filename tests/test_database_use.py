"""Marks say which database a test meets."""

from typing import cast

import pytest

from tests.database_use import (
    NONE,
    POSTGRESQL,
    SQLITE,
    databases_of,
    is_left_out,
    marks_of_file,
    may_meet_postgresql,
)


class MarkedItem:
    """As much of a collected test as is asked."""

    nodeid = "test_it"

    def __init__(self, marks: tuple[pytest.MarkDecorator, ...], fixtures: tuple[str, ...]) -> None:
        self.marks = [mark.mark for mark in marks]
        self.fixturenames = fixtures

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        return [mark for mark in self.marks if mark.name == name]

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next(iter(self.iter_markers(name)), None)


def databases(*marks: pytest.MarkDecorator, fixtures: tuple[str, ...] = ()) -> set[str]:
    return databases_of(cast(pytest.Item, MarkedItem(marks, fixtures)))


DJANGO_DB = pytest.mark.django_db
ON_SQLITE = pytest.mark.sqlite_only("tests pages")
ON_POSTGRESQL = pytest.mark.postgresql_only("slow")


def test_a_test_without_database_meets_none_whatever_its_module_says() -> None:
    assert databases() == databases(ON_SQLITE) == databases(pytest.mark.browser) == {NONE}


def test_a_test_with_database_meets_both_unless_it_is_marked() -> None:
    assert databases(DJANGO_DB) == databases(pytest.mark.worker) == {SQLITE, POSTGRESQL}
    assert databases(fixtures=("live_server",)) == {SQLITE, POSTGRESQL}
    assert databases(DJANGO_DB, ON_SQLITE) == {SQLITE}
    assert databases(DJANGO_DB, ON_POSTGRESQL) == {POSTGRESQL}


def test_a_browser_runs_on_sqlite_unless_it_is_marked() -> None:
    assert databases(DJANGO_DB, pytest.mark.browser) == {SQLITE}
    assert databases(DJANGO_DB, pytest.mark.browser, ON_POSTGRESQL) == {POSTGRESQL}


@pytest.mark.parametrize(
    "marks",
    [(ON_SQLITE, ON_POSTGRESQL), (pytest.mark.sqlite_only(),), (pytest.mark.postgresql_only,)],
)
def test_marks_that_contradict_or_give_no_reason_are_refused(
    marks: tuple[pytest.MarkDecorator, ...],
) -> None:
    with pytest.raises(pytest.UsageError):
        databases(DJANGO_DB, *marks)


@pytest.mark.parametrize(
    ("source", "may"),
    [
        ("def test_it():", False),
        ('pytestmark = pytest.mark.sqlite_only("tests pages")\ndef test_it(db):', False),
        ('pytestmark = [\n    pytest.mark.django_db,\n    pytest.mark.sqlite_only("x"),\n]', False),
        ("def test_it(db):", True),
        ("pytestmark = [pytest.mark.django_db, pytest.mark.slow]", True),
        ('pytestmark = [pytest.mark.django_db]\n@pytest.mark.sqlite_only("x")', True),
    ],
)
def test_a_file_is_left_out_only_where_its_words_say_so(source: str, may: bool) -> None:
    assert may_meet_postgresql(source) is may


def test_marks_of_a_file_are_those_of_all_its_tests() -> None:
    assert marks_of_file("@pytest.mark.slow\ndef test_it():") == set()
    assert marks_of_file("pytestmark = pytest.mark.slow\n@pytest.mark.browser") == {"slow"}
    several = 'pytestmark = [\n    pytest.mark.django_db,\n    pytest.mark.sqlite_only("x"),\n]\n'
    assert marks_of_file(several) == {"django_db", "sqlite_only"}


@pytest.mark.parametrize(
    ("marks", "expression", "wanted", "is_out"),
    [
        ({"slow"}, "not browser and not slow", set(), True),
        ({"slow"}, "not browser", set(), False),
        ({"slow"}, "not slow or browser", set(), False),
        ({"slow"}, "not (slow and browser)", set(), False),
        ({"slow"}, "slow", set(), False),
        ({"django_db", "postgresql_only"}, "", {SQLITE, NONE}, True),
        ({"django_db", "postgresql_only"}, "", {POSTGRESQL}, False),
        ({"django_db", "postgresql_only"}, "", set(), False),
        # What uses no database runs without one, whatever its file says.
        ({"postgresql_only"}, "", {SQLITE, NONE}, False),
    ],
)
def test_a_file_is_left_out_where_the_marks_of_all_its_tests_are(
    marks: set[str], expression: str, wanted: set[str], is_out: bool
) -> None:
    assert is_left_out(marks, expression, wanted) is is_out
