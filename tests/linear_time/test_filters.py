"""Filters of lists: what a query asks for is asked of the database in linear time, however long."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django_filters import FilterSet

from judging.studies.disputes.tables import DisputeFilter
from judging.studies.tables import StudyFilter
from runs.catalogue.tasks.tables import TaskFilter
from runs.interface.filters import AddressFilter
from runs.models import Run, Task, User
from runs.models.knowledge import KnowledgeEntry
from runs.models.visibility import visibility_of
from runs.viewer.run_list.filters import RunFilter
from tests.judging.factories import make_dispute, make_study
from tests.linear_time.growth import Sizes, size_grows_too_fast
from tests.linear_time.sources import modules
from tests.runs.factories import make_run, make_task, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("counts work of this process"),
    pytest.mark.slow,
]

SIZES = Sizes(1_250, 10_000)
VALUES = Sizes(75, 600)
"""Django takes no more than a thousand in one address."""
UNITS = ("a", "\\", "a ")


@pytest.fixture
def user() -> User:
    make_run(pictures=False)
    return make_user()


def _runs(query: QueryDict, user: User) -> FilterSet:
    visibility = visibility_of(user)
    return RunFilter(query, visibility=visibility)


def _tasks(query: QueryDict, user: User) -> FilterSet:
    return TaskFilter(query, queryset=Task.objects.visible_to(user))


def _disputes(query: QueryDict, user: User) -> FilterSet:
    return DisputeFilter(query, user=user)


def _studies(query: QueryDict, user: User) -> FilterSet:
    return StudyFilter(query, user=user)


FILTERS: dict[type[FilterSet], Callable[[QueryDict, User], FilterSet]] = {
    RunFilter: _runs,
    TaskFilter: _tasks,
    DisputeFilter: _disputes,
    StudyFilter: _studies,
}
MADE: dict[type[FilterSet], Callable[[Run], object]] = {
    RunFilter: lambda run: run.pk,
    TaskFilter: lambda run: run.task_id,
    DisputeFilter: lambda run: make_dispute(make_study(runs=[run])).pk,
}
"""What is listed of a run, by its key; names of studies are too short to be tried."""


def _rows(found: Any) -> Iterable[object]:
    if isinstance(found, DisputeFilter):
        return [*found.waiting, *found.decided]
    rows: Iterable[object] = found.qs[:10]
    return rows


def test_every_set_of_filters_is_tried():
    found = {
        one
        for module in modules()
        for one in vars(module).values()
        if isinstance(one, type)
        and issubclass(one, FilterSet)
        and one.__module__ == module.__name__
    }
    assert found - {AddressFilter} == FILTERS.keys()


@pytest.mark.parametrize("kind", FILTERS, ids=lambda kind: kind.__name__)
def test_a_filter_takes_linear_time(kind, user):
    def ask(query: QueryDict) -> None:
        with suppress(ValidationError):
            found: Any = FILTERS[kind](query, user)
            list(_rows(found))
            _ = [found.options(name) for name in found.choice_lists], found.chips

    names = list(FILTERS[kind](QueryDict(), user).filters)
    ask(QueryDict())
    for unit in UNITS:

        def of_length(n: int, unit: str = unit) -> QueryDict:
            return _query({name: [unit * (n // len(unit)) + "z"] for name in names})

        assert size_grows_too_fast(ask, of_length, SIZES) is None, unit
    for name in names:

        def of_values(n: int, name: str = name) -> QueryDict:
            return _query({name: [f"{i}" for i in range(n)]})

        assert size_grows_too_fast(ask, of_values, VALUES) is None, name


def _query(values: dict[str, list[str]]) -> QueryDict:
    query = QueryDict(mutable=True)
    for name, found in values.items():
        query.setlist(name, found)
    return query


@pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.__name__)
def test_a_long_search_in_a_long_text_takes_linear_time(kind, user):
    """Both grow: a database compares each place of the text with what is searched for."""

    def make(n: int) -> tuple[str, object]:
        text = "a" * n
        run = make_run(pictures=False, task=make_task(goal=text), goal=text)
        return text[: n // 2] + "b", MADE[kind](run)

    def ask(given: tuple[str, object]) -> None:
        words, pk = given
        found: Any = FILTERS[kind](_query({"q": [words]}), user)
        rows = found.waiting if kind is DisputeFilter else found.qs
        list(rows.filter(pk=pk))

    assert MADE.keys() == {kind for kind in FILTERS if "q" in kind.base_filters} - {StudyFilter}

    assert size_grows_too_fast(ask, make, SIZES) is None


def test_words_of_web_knowledge_are_looked_for_in_linear_time():
    def look(words: str) -> None:
        list(KnowledgeEntry.objects.all().holding(words))

    for unit in UNITS:

        def make(n: int, unit: str = unit) -> str:
            return unit * (n // len(unit))

        assert size_grows_too_fast(look, make, SIZES) is None, unit
