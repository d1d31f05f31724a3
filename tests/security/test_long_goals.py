"""A goal of a million characters: only what shows one run or one task holds it whole."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs.models import Run, RunStatus, Task, User
from runs.models.triggers import remove_guards
from tests.judging.studies.blind_world import World
from tests.runs.api.asking import Caller
from tests.runs.factories import client_of, make_run, make_task, make_user
from tests.security.crowd import crowd
from tests.security.markup import body
from tests.security.test_every_address import everywhere

LONG = "word " * 200_000
SMALL = 100_000
OF_ONE = {
    *("runs:run_detail", "runs:run_compare", "judging:annotate", "judging:annotate_run"),
    *("runs:task_detail", "runs:task_preview", "runs:task_milestones"),
    "judging:milestone_proposals",
}
FILES = {"judging:audit_table", "judging:audit_triangle_file", "judging:audit_cells_file"}
WHOLE = re.compile(r'SELECT (?:.*, )?"runs_(?:run|task)"\."goal"(?:,| AS| FROM)')
"""A statement that reads the column as it is."""


@pytest.mark.django_db
def test_lists_that_are_asked_for_again_and_again_do_not_read_it() -> None:
    task, engineer = make_task("long", goal=LONG), make_user("engineer")
    for status in (RunStatus.RUNNING, RunStatus.QUEUED, RunStatus.FINISHED):
        make_run(task=task, status=status, lease_token=1)
    make_run(task=task, goal="", lease_token=1)
    client, caller = client_of(engineer), Caller(engineer)
    for path in ("/runs/", "/reruns/", "/reruns/live/", "/jobs/", "/tasks/"):
        with CaptureQueriesContext(connection) as asked:
            page = client.get(path).content
        assert b"word word" in page
        assert len(page) < SMALL, path
        assert [one["sql"] for one in asked if WHOLE.match(one["sql"])] == [], path
    for path in ("/runs", "/tasks"):
        with CaptureQueriesContext(connection) as asked:
            items = caller.get(path).json()["items"]
        assert {item["goal"] for item in items} == {LONG[:10_000]}
        assert [one["sql"] for one in asked if WHOLE.match(one["sql"])] == [], path
        assert caller.get(f"{path}/{items[0]['id']}").json()["goal"] == LONG


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.sqlite_only("what pages show is alike on both")
def test_no_list_of_the_site_shows_it_whole(world: World, overseer: User) -> None:
    crowded = crowd(world, overseer)
    remove_guards()
    Run.objects.update(goal=LONG, lease_token=1)
    Task.objects.update(goal=LONG)
    clients = {user: client_of(user) for user, _ in crowded.visits}
    clients |= {user: client_of(user) for user in (overseer, world.annotator)}
    whole = set()
    for user, visit in (*everywhere(world, overseer), *crowded.visits):
        send = clients[user].get if visit.data is None else clients[user].post
        answer = send(visit.path, visit.data, headers=visit.headers)
        if len(body(answer)) > len(LONG) / 2:
            whole.add(answer.resolver_match.view_name)
    assert whole - FILES == OF_ONE
