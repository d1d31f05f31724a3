"""The wall: what runs now, with its last screenshot, and what has just ended."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from runs.launching.wall import STAYS, wall_of
from runs.models import Run, RunStatus, User
from tests.runs.factories import client_of, make_run, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]


def running(goal: str, **fields: Any) -> Run:
    now = timezone.now()
    given: dict[str, Any] = {
        "status": RunStatus.RUNNING,
        "claimed_at": now,
        "started_at": now,
        "max_steps": 10,
    }
    return make_run(goal=goal, **given | fields)


def wall(user: User) -> str:
    return (
        client_of(user)
        .get(reverse("runs:live_wall"), headers={"HX-Request": "true"})
        .content.decode()
    )


def test_it_shows_step_and_last_screenshot_and_asks_again() -> None:
    run = running("Buy the hose")
    shown = wall(make_user("engineer"))
    assert "Buy the hose" in shown
    assert f"step {run.n_steps} of 10" in shown
    last = run.steps.order_by("-index").first()
    assert last is not None
    assert last.screenshot is not None
    assert f"/blobs/{last.screenshot.thumbnail}" in shown
    assert 'hx-trigger="every 2s"' in shown


def test_own_runs_stay_a_while_after_their_end() -> None:
    user, now = make_user("engineer"), timezone.now()
    for goal, ago, of in (
        ("just", timedelta(seconds=5), user),
        ("long ago", STAYS + timedelta(seconds=5), user),
        ("of another", timedelta(seconds=5), make_user("engineer")),
    ):
        make_run(goal=goal, created_by=of, claimed_at=now - ago, ended_at=now - ago)
    assert [each.run.goal for each in wall_of(Run.objects.visible_to(user), user)] == ["just"]


def test_with_nothing_at_work_it_stops_asking() -> None:
    make_run()
    shown = wall(make_user("engineer"))
    assert "hx-trigger" not in shown
    assert "<li" not in shown


def test_three_queries_however_many_run() -> None:
    user = make_user("engineer")

    def queries() -> int:
        runs = Run.objects.visible_to(user)
        with CaptureQueriesContext(connection) as found:
            wall_of(runs, user)
        return len(found)

    running("one", pictures=False)
    with_one = queries()
    for _ in range(5):
        running("more", pictures=False)
    assert queries() == with_one == 3
