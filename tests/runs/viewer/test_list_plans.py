"""The runs table is read by its indexes, on both databases, and its pages cover every run once."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from judging.studies.services import matching_runs
from runs.interface.keyset import Keyset
from runs.interface.paging import OrderedParts
from runs.models import Experiment, Run, RunStatus
from runs.models.visibility import visibility_of
from runs.viewer.run_list.filters import RunFilter
from runs.viewer.run_list.pages import run_keyset
from tests.runs.factories import client_of, make_agent, make_run, make_task, make_user

pytestmark = pytest.mark.django_db
BY_INDEX = {
    "": "run_newest",
    "sort=created": "run_newest",
    "sort=n_steps": "run_by_steps",
    "sort=-n_steps": "run_by_steps",
    "sort=seconds": "run_by_seconds",
    "sort=-seconds": "run_by_seconds",
    "sort=cost": "run_by_cost",
    "sort=-cost": "run_by_cost",
    "sort=goal": "run_by_goal",
    "sort=-goal": "run_by_goal",
    "status=failed": "run_by_status",
    "anomaly=loop": "run_by_anomaly",
    "outcome=success": "run_by_outcome",
    "archived=true": "run_archived",
    "reference=success": "verdict_by_age_of_run",
    "reference=success&reference=failure": "verdict_by_age_of_run",
}


WITHOUT_STATISTICS = {
    "q=find": "run_by_goal",
    "agent=one": "run_by_agent",
    "agent=one&agent=two": "run_by_agent",
    "model=one": "run_by_agent",
    "task_set=1": "run_by_task",
    "task=one": "run_by_task",
    "site=one": "run_by_task",
    "site=one&agent=one&outcome=error": "run_by_task",
    "task=one&outcome=success&outcome=failure": "run_by_task",
    "experiment=one": "run_by_experiment",
    "status=finished": "run_by_status",
}
"""What SQLite has to follow without statistics, which an installation never gathers."""


FOLLOWING = {
    "created": ("run_newest", ()),
    "n_steps": ("run_by_steps", (7,)),
    "cost": ("run_by_cost", (7,)),
    "goal": ("run_by_goal", ("Find",)),
}
"""By order: the index that reads on from a run, and what that run is ordered by."""
OF_WORKERS: dict[str, Callable[[], object]] = {
    "take": lambda: Run.objects.claim_next(owner="a worker", lease_s=60),
    "count what waits": lambda: Run.objects.due_somewhere(100),
    "count what runs": lambda: Run.objects.held_here().count(),
    "put back": lambda: Run.objects.requeue_expired(),
    "find what is lost": lambda: list(Run.objects.expired().order_by()),
    "call off": lambda: Run.objects.call_off(),
    "end what was called off": lambda: Run.objects.end_cancelled(),
}
FOR_WORKERS = re.compile("run_waiting|run_in_lane|run_by_status|run_last_claimed|pkey|autoindex")


def keyset_of(query: str) -> Keyset:
    """The list as the page orders it, for somebody from whom nothing is hidden."""
    user = make_user("engineer")
    visibility = visibility_of(user)
    sort = QueryDict(query).get("sort", "-created")
    return run_keyset(RunFilter(QueryDict(query), visibility=visibility), sort)


def plan_of(rows: QuerySet[Any]) -> str:
    return rows.values_list("pk", flat=True)[:50].explain()


@pytest.fixture
def by_index() -> None:
    """Rows enough, and a planner that reads by an index what can be read by one."""
    if connection.vendor == "postgresql":
        keep_runs(300)
        with connection.cursor() as cursor:
            # What it knows of the tables is settled here, and of few rows it would rather read all.
            cursor.execute("ANALYZE")
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_sort = off")
            cursor.execute("SET LOCAL enable_bitmapscan = off")


@pytest.mark.parametrize(("query", "index"), BY_INDEX.items())
def test_a_page_is_found_by_its_index(by_index: None, query: str, index: str) -> None:
    assert index in plan_of(next(keyset_of(query).parts(None, back=False)))


@pytest.mark.sqlite_only("asks SQLite for its plan")
@pytest.mark.parametrize(("query", "index"), WITHOUT_STATISTICS.items())
def test_sqlite_follows_what_is_filtered_by(query: str, index: str) -> None:
    assert f"INDEX {index} (" in plan_of(next(keyset_of(query).parts(None, back=False)))


def test_a_task_id_is_searched_for_by_its_index_and_a_word_costs_no_query(
    django_assert_num_queries: Any,
) -> None:
    keep_runs(300)
    run = make_run(task=make_task("webarena.77", goal="Another"), pictures=False)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
            cursor.execute("SET LOCAL enable_seqscan = off")
    found = Run.objects.with_words("webarena.77").order_by()
    plan = plan_of(found)
    assert "run_by_task" in plan
    assert "run_goal" in plan or "run_by_goal" in plan
    assert list(found) == [run]
    with django_assert_num_queries(0):
        Run.objects.with_words("letters alone")


@pytest.mark.sqlite_only("asks SQLite for its plan")
@pytest.mark.parametrize("query", ["outcome=success", "status=failed", "agent=one"])
def test_sqlite_asks_of_the_runs_that_somebody_may_see(query: str) -> None:
    user = make_user("annotator")
    found = RunFilter(QueryDict(query), visibility=visibility_of(user))
    for seen in found.visibility.widened(newest_first=True):
        listed = found.matching.filter(seen.visible).order_by("-created_at", "-pk")
        assert "INDEX run_" not in plan_of(listed)


@pytest.mark.sqlite_only("asks SQLite for its plan")
@pytest.mark.parametrize("query", ["outcome=success", "status=finished", "agent=one", "q=find"])
def test_of_many_that_match_sqlite_first_asks_those_that_come_first(
    monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr("runs.viewer.run_list.pages.COUNTED_AT_ONCE", 1)
    monkeypatch.setattr("runs.interface.keyset.LOOKED_AT", 1)
    task, agent = make_task(goal="Find it"), make_agent(name="one")
    for _ in range(2):
        make_run(task=task, agent=agent, outcome="success", pictures=False)
    client = client_of(make_user("engineer"))
    with CaptureQueriesContext(connection) as queries:
        client.get(f"/runs/?{query}&sort=seconds")
    in_order = next(
        each["sql"] for each in queries if 'ORDER BY "runs_run"."seconds"' in each["sql"]
    )
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {in_order}")
        plan = " ".join(str(row[-1]) for row in cursor.fetchall())
    assert set(re.findall(r"\brun_\w+", plan)) == {"run_by_seconds"}
    assert "TEMP B-TREE" not in plan


@pytest.mark.sqlite_only("asks SQLite for its plan")
@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("trajectory=missing", "run_stubs"),
        ("agent=one", "run_by_agent"),
        ("task_set=1", "run_by_task"),
    ],
)
def test_sqlite_counts_runs_to_judge_by_what_is_filtered_by(query: str, index: str) -> None:
    found = matching_runs(query, make_user("engineer"))
    assert f"INDEX {index}" in plan_of(found.order_by())


def test_marks_are_looked_up_run_by_run_only_where_that_is_quick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = ("loop", "loop", "false_completion", "")
    runs = [
        make_run(events=[{"kind": k, "first_step": 0, "last_step": 1}] if k else [], pictures=False)
        for k in kinds
    ]

    def joins(query: str) -> bool:
        rows = next(keyset_of(query).parts(None, back=False))
        word = QueryDict(query)["anomaly"]
        assert {run.pk for run in rows} == {
            run.pk for run, kind in zip(runs, kinds, strict=True) if kind == word
        }
        return "EXISTS" in str(rows.values_list("pk").query)

    assert joins("anomaly=loop")  # there are too few to tell
    monkeypatch.setattr("runs.viewer.run_list.filters.LOOKED_AT", 3)
    monkeypatch.setattr("runs.viewer.run_list.filters.COMMON", 2)
    assert joins("anomaly=loop") == (connection.vendor != "postgresql")
    assert joins("anomaly=false_completion")
    assert joins("anomaly=loop&status=finished&outcome=success&sort=cost")


@pytest.mark.parametrize("order", FOLLOWING)
def test_the_pages_after_and_before_a_run_are_found_by_its_index(
    by_index: None, order: str
) -> None:
    index, lead = FOLLOWING[order]
    for sort in (order, f"-{order}"):
        keyset = keyset_of(f"sort={sort}")
        for back in (True, False):
            parts = list(keyset.parts((*lead, timezone.now(), uuid4()), back=back))
            # Of those that are alike there may be so few that any index will do.
            plan = plan_of(parts[1 if lead else 0])
            assert index in plan, (sort, back)
            assert "TEMP B-TREE" not in plan


@pytest.mark.parametrize("work", OF_WORKERS)
def test_workers_look_at_no_run_that_neither_waits_nor_runs(by_index: None, work: str) -> None:
    with CaptureQueriesContext(connection) as queries:
        OF_WORKERS[work]()
    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    for query in queries:
        sql = query["sql"].strip()
        if not sql.startswith(("SELECT", "UPDATE", "WITH")) or '"runs_run"' not in sql:
            continue
        with connection.cursor() as cursor:
            cursor.execute(f"{explain} {sql}")
            plan = [" ".join(map(str, row)) for row in cursor.fetchall()]
        for line in plan:
            if re.search(r"(Scan|SCAN|SEARCH).* (on )?runs_run\b", line):
                assert FOR_WORKERS.search(line), line


def keep_runs(count: int) -> None:
    """So many runs of one experiment: of several outcomes, a tenth failed, a tenth went wrong."""
    task, agent, now = make_task(), make_agent(), timezone.now()
    experiment = Experiment.objects.create(name="All of them")
    outcomes = list(Run.Outcome)
    Run.objects.bulk_create(
        Run(
            task=task,
            agent=agent,
            experiment=experiment,
            status=RunStatus.FAILED if at % 10 == 3 else RunStatus.FINISHED,
            outcome=outcomes[at % len(outcomes)],
            has_anomaly=at % 10 == 7,
            n_steps=at % 40,
            seconds=at,
            cost=at,
            created_at=now - timedelta(minutes=at),
        )
        for at in range(count)
    )


@pytest.mark.parametrize("per_page", [1, 2, 3, 10])
def test_parts_in_turn_are_paged_through_once(per_page: int) -> None:
    runs = [make_run(status=status, pictures=False) for status in ["queued", "finished"] * 3]
    waiting, ended = runs[::2], runs[1::2]
    parts = OrderedParts(
        Run.objects.filter(status="queued").order_by("created_at"),
        Run.objects.filter(status="failed"),
        Run.objects.filter(status="finished").order_by("-created_at"),
        most=100,
    )
    paged = [run for at in range(0, len(parts), per_page) for run in parts[at : at + per_page]]
    assert paged == waiting + ended[::-1]
    assert parts[3] == ended[-1]


def test_of_each_part_only_so_many_are_reached() -> None:
    for status in ["queued", "finished"] * 3:
        make_run(status=status, pictures=False)
    queued, ended = (Run.objects.filter(status=word) for word in ("queued", "finished"))
    parts = OrderedParts(queued, ended, most=2)
    assert [run.status for run in parts] == ["queued", "queued", "finished", "finished"]
