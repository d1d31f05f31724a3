"""Pages found by their rows: every order is walked through once, as the viewer may see it."""

from datetime import timedelta
from functools import partial
from itertools import product
from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.db.models import Exists, OuterRef, Q
from django.http import QueryDict
from django.utils import timezone

from judging.extension import ReferenceVerdictColumn
from judging.models import ReferenceVerdict, StudyItem
from runs.interface.keyset import Cursor, KeyPage, Keyset, read_cursor
from runs.interface.paging import RowCount, count_rows
from runs.models import Event, Run, RunStatus, User
from runs.models.visibility import Visibility, visibility_of
from runs.viewer.run_list.filters import RunFilter
from runs.viewer.run_list.pages import AGE_ELSEWHERE, run_keyset
from runs.viewer.run_list.tables import RunTable
from tests.judging.factories import make_study
from tests.runs.factories import client_of, make_agent, make_experiment, make_task, make_user

pytestmark = pytest.mark.django_db
RUNS, SIZE = 20, 7
SHOWN = {
    "created": None,
    "goal": "goal",
    "n_steps": "n_steps",
    "seconds": "seconds",
    "cost": "shown_cost",
}
"""By column: where a row holds what it shows."""


def make_runs() -> list[Run]:
    """Runs of few values, so that many are alike in each, and some have none."""
    tasks = [make_task(site=site, goal=goal) for site, goal in (("gitlab", "b"), ("", "a"))]
    agents = [make_agent(f"agent {n}", f"model {n % 2}") for n in range(3)]
    experiments = [make_experiment(f"trial {n}") for n in range(2)]
    statuses = [RunStatus.FINISHED, RunStatus.FAILED, RunStatus.QUEUED, RunStatus.CANCELLED]
    moments = [timezone.now() - timedelta(minutes=at // 3) for at in range(RUNS)]
    with patch("django.utils.timezone.now", side_effect=moments):
        return Run.objects.bulk_create(
            Run(
                task=tasks[at % 2],
                goal=tasks[at % 2].goal,
                agent=agents[at % 3],
                experiment=[*experiments, None][at % 3],
                outcome=["success", "error"][at % 2],
                status=statuses[at % 4],
                has_anomaly=at % 5 == 0,
                n_steps=at % 4,
                seconds=None if at % 4 == 1 else at % 3,
                cost=None if at % 5 == 1 else at % 2,
            )
            for at in range(RUNS)
        )


def settle(runs: list[Run]) -> None:
    study = make_study(runs=runs)
    study.items.update(status=StudyItem.Status.SETTLED)
    for at, item in enumerate(study.items.order_by("position")):
        ReferenceVerdict.objects.create(
            item=item,
            run=item.run,
            verdict=["success", "failure"][at % 2],
            origin="agreed",
            decided_at=timezone.now() - timedelta(days=1),
            run_created_at=item.run.created_at,
        )


@pytest.fixture
def world() -> list[Run]:
    runs = make_runs()
    settle(runs[3:9])
    return runs


def rows_of(user: User) -> Any:
    return ReferenceVerdictColumn().annotate(Run.objects.visible_to(user))


def keyset_of(user: User, sort: str) -> Keyset:
    return run_keyset(filter_of(visibility_of(user)), sort)


def filter_of(visibility: Visibility, query: str = "") -> RunFilter:
    return RunFilter(QueryDict(f"superseded=true&{query}"), visibility=visibility)


def as_shown(user: User, sort: str) -> list[UUID]:
    """What the pages have to hold, sorted here from what the viewer is shown."""
    name, falls = sort.removeprefix("-"), sort.startswith("-")
    nulls_largest = connection.features.nulls_order_largest

    def value(run: Any) -> tuple[bool, Any]:
        found = run
        for part in (SHOWN[name] or "pk").split("."):
            found = getattr(found, part)
        if SHOWN[name] is None:
            return (False, 0)
        is_null = found is None
        return (is_null == nulls_largest, 0 if is_null else found)

    ages_fall = falls if SHOWN[name] is None else not falls
    rows = sorted(rows_of(user), key=lambda run: (run.created_at, run.pk), reverse=ages_fall)
    return [run.pk for run in sorted(rows, key=value, reverse=falls)]


def walk(
    keyset: Keyset, *, size: int = SIZE, are_common: bool = False
) -> tuple[list[list[UUID]], list[list[UUID]]]:
    """The pages by their links: forwards to the last, and from there back to the first."""
    turn_to = partial(keyset.page, size=size, are_common=are_common)
    page = turn_to(None)
    ahead, back = [list(page.keys)], []
    while page.next:
        page = turn_to(Cursor(page.next, is_before=False, number=None))
        ahead.append(list(page.keys))
    while page.previous:
        page = turn_to(Cursor(page.previous, is_before=True, number=None))
        back.append(list(page.keys))
    return ahead, back[::-1]


@pytest.mark.slow
@pytest.mark.sqlite_only("PostgreSQL knows by its statistics what is common")
def test_looking_at_some_rows_first_shows_the_same_pages(
    world: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    user = make_user("engineer")
    for outcome, anonymous in product(("success", "error"), (None, Q(pk=None), Q(n_steps__gt=0))):
        found = filter_of(Visibility(user, Q(), None, anonymous), f"outcome={outcome}")
        for sort in [direction + name for name in SHOWN for direction in ("", "-")]:
            keyset = run_keyset(found, sort)
            # So few that some pages are full before all runs were asked.
            pages = walk(keyset, size=2)
            assert len(pages[0]) > 2
            for looked_at in (1, 3, 9, RUNS):
                monkeypatch.setattr("runs.interface.keyset.LOOKED_AT", looked_at)
                assert walk(keyset, size=2, are_common=True) == pages, (sort, looked_at)


@pytest.mark.parametrize("is_blind", [False, True])
@pytest.mark.slow
def test_every_order_is_walked_through_once_and_back(world: list[Run], is_blind: bool) -> None:
    viewer = make_user("engineer")
    if is_blind:
        make_study(runs=world[6:13], annotators=[viewer, make_user("annotator")])
    for sort in [direction + name for name in SHOWN for direction in ("", "-")]:
        ahead, back = walk(keyset_of(viewer, sort))
        assert [key for page in ahead for key in page] == as_shown(viewer, sort), sort
        assert back == ahead[:-1], sort


@pytest.mark.slow
@pytest.mark.parametrize("is_blind", [False, True])
@pytest.mark.parametrize("are_dated", [True, False])
def test_runs_with_a_verdict_are_walked_through_once_and_back(
    world: list[Run], is_blind: bool, are_dated: bool
) -> None:
    viewer = make_user("engineer")
    if is_blind:
        make_study(runs=world[6:13], annotators=[viewer, make_user("annotator")])
    if not are_dated:  # an older version at work beside this one stored one of them
        ReferenceVerdict.objects.filter(run=world[4]).update(run_created_at=None)
    elsewhere = make_study(runs=world[3:4]).items.get()
    ReferenceVerdict.objects.create(
        item=elsewhere,
        run=world[3],
        verdict="success",
        origin="agreed",
        decided_at=timezone.now(),
        is_authoritative=False,
        run_created_at=world[3].created_at,
    )
    visibility = visibility_of(viewer)
    query = QueryDict("reference=success&reference=failure&superseded=true")
    for sort in ("created", "-created", "-cost"):
        keyset = run_keyset(RunFilter(query, visibility=visibility), sort)
        order = [str(name) for name in next(keyset.parts(None, back=False)).query.order_by]
        assert (order[-1].strip("-") in AGE_ELSEWHERE) == (are_dated and sort != "-cost")
        ahead, back = walk(keyset)
        settled = {run.pk for run in world[3 : 6 if is_blind else 9]}
        expected = [key for key in as_shown(viewer, sort) if key in settled]
        assert [key for page in ahead for key in page] == expected, sort
        assert back == ahead[:-1], sort


def test_every_column_that_sorts_has_an_order() -> None:
    table = RunTable(RunFilter(None, visibility=visibility_of(make_user("engineer"))))
    assert {column.name for column in table.columns.iterall() if column.orderable} <= set(SHOWN)


def test_a_page_beside_a_run_that_is_gone_or_not_to_be_seen_is_the_first(world: list[Run]) -> None:
    user = make_user("annotator")
    first = keyset_of(user, "-created").page(None, SIZE)
    for row in (uuid4(), world[0].pk):
        for is_before in (True, False):
            page = keyset_of(user, "-created").page(Cursor(row, is_before, 9), SIZE)
            assert page == first


def test_a_page_that_would_be_cut_short_at_the_beginning_is_the_first(world: list[Run]) -> None:
    keyset = keyset_of(make_user("engineer"), "-created")
    first = keyset.page(None, SIZE)
    assert keyset.page(Cursor(first.keys[2], is_before=True, number=4), SIZE) == first
    assert first.number == 1


def test_the_address_of_a_page_names_a_run_and_nothing_of_it(world: list[Run]) -> None:
    given = QueryDict("sort=-cost&site=a&site=b&before=x&page=7")
    row, number = world[0].pk, 7
    page = KeyPage([], previous=None, next=row, number=number)
    assert page.query(given, back=False) == f"?sort=-cost&site=a&site=b&after={row}&page=8"
    assert page.query(given, back=True) == ""
    assert read_cursor(QueryDict(f"after={row}&page=8")) == Cursor(row, False, 8)
    for nonsense in ("after=1", "before=%00", "page=3", f"aft={row}"):
        assert read_cursor(QueryDict(nonsense)) is None
    cursor = read_cursor(QueryDict(f"before={row}&page=99999999999"))
    assert cursor == Cursor(row, True, None)


def test_the_table_leads_to_its_other_pages(
    world: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.viewer.run_list.pages.PER_PAGE", SIZE)
    client = client_of(make_user("engineer"))
    first = client.get("/runs/?sort=n_steps").content.decode()
    last = keyset_of(make_user("engineer"), "n_steps").page(None, SIZE).keys[-1]
    assert f'rel="next" href="?sort=n_steps&amp;after={last}&amp;page=2"' in first
    second = client.get(f"/runs/?sort=n_steps&after={last}&page=2").content.decode()
    assert "page 2" in second
    assert 'rel="prev"' in second
    controls = second.split('id="run-table"')[1].split("<tbody")[0]
    assert "sort=-n_steps" in controls
    assert str(last) not in controls  # sorting and filtering begin anew


class TestCounts:
    def test_few_are_counted_to_the_last(self, world: list[Run]) -> None:
        assert count_rows(Run.objects.all(), may_estimate=True) == RowCount(RUNS)

    def test_many_are_not(self, world: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("runs.interface.paging.COUNTED", 5)
        assert count_rows(Run.objects.all()) == RowCount(5, is_more=True)

    def test_a_page_counts_on_after_it_is_shown(
        self, world: list[Run], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("runs.viewer.run_list.pages.COUNTED_AT_ONCE", 7)
        client = client_of(make_user("engineer"))
        page = client.get("/runs/?outcome=error&sort=cost").content.decode()
        address = "/runs/count/?outcome=error&amp;sort=cost"
        assert f'hx-get="{address}"' in page
        assert "more than 7 runs" in page
        rest = client.get(address.replace("&amp;", "&")).content.decode()
        assert "10 runs" in rest
        assert "hx-get" not in rest

    def test_the_first_page_is_counted_by_the_way(self, world: list[Run]) -> None:
        listed = keyset_of(make_user("engineer"), "-created")
        assert listed.first_of(5, counted=RUNS) == (listed.page(None, 5), RowCount(RUNS))
        assert listed.first_of(5, counted=9) == (listed.page(None, 5), RowCount(9, is_more=True))
        assert listed.first_of(RUNS - 1, counted=9)[0] == listed.page(None, RUNS - 1)

    def test_the_planner_is_believed_where_there_are_many(
        self, world: list[Run], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in (("COUNTED", 5), ("COUNTED_AT_ONCE", 3), ("BELIEVED", 10)):
            monkeypatch.setattr(f"runs.interface.paging.{name}", value)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        found = count_rows(Run.objects.all(), may_estimate=True)
        if connection.vendor == "postgresql":
            assert found == RowCount(RUNS, is_about=True)
            # Nor is what it guesses by halves.
            unmarked = Q(seed=1) | ~Exists(Event.objects.filter(run=OuterRef("pk")))
            guessed = count_rows(Run.objects.filter(unmarked), may_estimate=True)
            assert guessed == RowCount(5, is_more=True)
            # What was looked for and is not there is not believed.
            none = Run.objects.filter(pk__in=[world[0].pk])
            monkeypatch.setattr("runs.interface.paging.BELIEVED", 0)
            assert count_rows(none, may_estimate=True) == RowCount(1)
        else:
            assert found == RowCount(5, is_more=True)

    @pytest.mark.parametrize("role", ["blind", "annotator", "engineer"])
    def test_only_who_sees_all_is_told_an_estimate(
        self, world: list[Run], role: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        user = make_user("annotator" if role == "annotator" else "engineer")
        if role == "blind":
            make_study(runs=world[:1], annotators=[user, make_user("annotator")])
        asked: list[bool] = []

        def count(rows: object, *, may_estimate: bool, most: int) -> RowCount:
            asked.append(may_estimate)
            return RowCount(most, is_about=True)

        monkeypatch.setattr("runs.viewer.run_list.pages.count_rows", count)
        client = client_of(user)
        page = client.get("/runs/?outcome=error").content.decode()
        assert asked == ([] if role == "annotator" else [role == "engineer"])
        assert ("about 250 runs" in page) == (role != "annotator")  # who has none is told of none
