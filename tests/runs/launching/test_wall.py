"""The wall: what runs now, with its last screenshot, and what has just ended."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from runs.launching.reruns.pages import STAYS, wall_of
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


def ask(user: User, query: str = "") -> Any:
    address = reverse("runs:live_wall") + query
    return client_of(user).get(address, headers={"HX-Request": "true"})


def wall(user: User, query: str = "") -> str:
    return str(ask(user, query).content.decode())


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


def test_with_nothing_at_work_it_stops_asking_in_another_page() -> None:
    make_run()
    shown = wall(make_user("engineer"), "?embedded=1")
    assert "hx-trigger" not in shown
    assert "<li" not in shown
    assert "Nothing is running" not in shown


def test_in_another_page_it_goes_on_as_embedded() -> None:
    running("Buy the hose")
    assert "/reruns/live/?embedded=1" in wall(make_user("engineer"), "?embedded=1")


def test_its_own_page_says_that_nothing_runs_and_asks_again() -> None:
    user = make_user("engineer")
    page = client_of(user).get(reverse("runs:live_wall")).content.decode()
    for shown in (page, wall(user)):
        assert "Nothing is running" in shown
        assert "/reruns/live/?empty=1" in shown
        assert 'hx-trigger="every 10s"' in shown


def test_an_empty_wall_is_swapped_once_something_runs() -> None:
    user = make_user("engineer")
    assert ask(user, "?empty=1").status_code == 204
    running("Buy the hose")
    shown = wall(user, "?empty=1")
    assert "Buy the hose" in shown
    assert 'hx-trigger="every 2s"' in shown


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
