"""Marks say which database a test meets."""

from typing import cast

import pytest

from tests.database_use import NONE, POSTGRESQL, SQLITE, databases_of


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
