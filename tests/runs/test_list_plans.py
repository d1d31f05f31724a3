"""The runs table is read by its indexes, on both databases, and its pages cover every run once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils import timezone

from runs.filters import RunFilter
from runs.models import Run, RunStatus
from runs.ordered_parts import OrderedParts
from runs.tables import RunTable, all_columns
from tests.runs.factories import make_agent, make_run, make_task, make_user

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
    "sort=status": "run_by_status",
    "sort=-status": "run_by_status",
    "sort=anomalies": "run_by_anomaly",
    "status=failed": "run_by_status",
    "anomaly=loop": "run_by_anomaly",
    "outcome=success": "run_by_outcome",
}


def rows_of(query: str) -> QuerySet[Any, UUID]:
    """The queryset behind a page of the table, as the page orders it."""
    user = make_user("engineer")
    user.preferences["run_columns"] = list(all_columns())
    found = RunFilter(QueryDict(query), queryset=Run.objects.shown_to(user), user=user)
    table = RunTable(found.qs, user, order_by=QueryDict(query).get("sort", "-created"))
    rows: QuerySet[Any, UUID] = table.data.data.values_list("pk", flat=True)
    return rows[:50]


@pytest.mark.parametrize(("query", "index"), BY_INDEX.items())
def test_a_page_is_found_by_its_index(query: str, index: str) -> None:
    if connection.vendor == "postgresql":
        keep_runs(300)
        with connection.cursor() as cursor:
            # What it knows of the tables is settled here, and of few rows it would rather read all.
            cursor.execute("ANALYZE")
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_sort = off")
            cursor.execute("SET LOCAL enable_bitmapscan = off")
    assert index in rows_of(query).explain()


def keep_runs(count: int) -> None:
    """So many runs, of several outcomes, a tenth failed and a tenth with an anomaly."""
    task, agent, now = make_task(), make_agent(), timezone.now()
    outcomes = list(Run.Outcome)
    Run.objects.bulk_create(
        Run(
            task=task,
            agent=agent,
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
