"""The newest runs of somebody who sees only part of all, found without going through all."""

import re
from random import Random

import pytest
from django.test import Client

from judging.models import StudyItem
from judging.studies.blinding import StudyPolicy
from judging.studies.integrity import date_rows
from runs.models import Run, User, visibility
from runs.models.visibility import NewestRuns
from runs.viewer.run_list import pages
from tests.judging.factories import make_study
from tests.judging.studies.test_blinding_kin import draw_world
from tests.runs.factories import client_of, make_run, make_task, make_user

pytestmark = pytest.mark.django_db


def newest_of(user: User, most: int) -> NewestRuns:
    found = StudyPolicy().newest(user, most)
    assert found is not None
    return found


@pytest.mark.parametrize("are_dated", [True, False])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.slow
def test_they_are_the_newest_of_all_that_are_visible(seed: int, are_dated: bool) -> None:
    user = make_user("annotator")
    draw_world(Random(seed), user)
    if are_dated:
        date_rows()
    visible = Run.objects.filter(StudyPolicy().visible(user)).order_by("-created_at", "-pk")
    runs = [run.pk for run in visible]
    for most in (1, 2, 3, 50):
        newest = newest_of(user, most)
        assert set(newest.runs) == set(runs[: len(newest.runs)])
        assert len(newest.runs) == len(set(newest.runs))
        assert bool(newest.runs) == bool(runs)
        assert newest.has_older or len(newest.runs) == len(runs)


def test_a_run_in_several_studies_hides_none_that_is_older() -> None:
    adjudicator = make_user("adjudicator")
    task = make_task()
    runs = [make_run(steps=0, pictures=False, task=task) for _ in range(4)]
    for _ in range(2):
        study = make_study(runs=runs, adjudicators=[adjudicator])
        study.items.update(status=StudyItem.Status.DISPUTED)
    newest = newest_of(adjudicator, 4)
    assert set(newest.runs) == {runs[2].pk, runs[3].pk}
    assert newest.has_older


def test_who_sees_all_is_not_asked_for_them() -> None:
    assert StudyPolicy().newest(make_user("engineer"), 3) is None


def keys_of(client: Client, query: str) -> list[str]:
    return re.findall(r'data-run="([^"]+)"', client.get(f"/runs/{query}").content.decode())


@pytest.mark.slow
def test_a_list_shows_the_same_whether_it_begins_with_them_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    adjudicator = make_user("adjudicator")
    task, other = make_task(site="gitlab"), make_task(site="reddit")
    runs = [
        make_run(steps=0, pictures=False, task=other if at < 2 else task, n_steps=at % 3)
        for at in range(12)
    ]
    make_study(runs=runs, adjudicators=[adjudicator]).items.update(status=StudyItem.Status.SETTLED)
    client = client_of(adjudicator)
    monkeypatch.setattr(pages, "PER_PAGE", 3)
    monkeypatch.setattr(visibility, "WIDER", 2)
    queries = [
        *("", "?site=gitlab", "?site=reddit", "?sort=n_steps", "?sort=created", "?q=none"),
        *(f"?after={runs[7].pk}", f"?site=gitlab&after={runs[4].pk}"),
    ]
    whole = [keys_of(client, query) for query in queries]
    assert [len(keys) for keys in whole[:3]] == [3, 3, 2]
    for most in (2, 4, 6):
        monkeypatch.setattr(visibility, "NEWEST", most)
        assert [keys_of(client, query) for query in queries] == whole
    assert "more than 6 runs" in client.get("/runs/").content.decode()


def test_older_versions_leave_items_undated_until_the_next_migration() -> None:
    run = make_run(steps=0, pictures=False)
    item = make_study(runs=[run]).items.get()
    assert item.run_created_at == run.created_at
    StudyItem.objects.update(run_created_at=None)
    date_rows()
    assert not StudyItem.objects.filter(run_created_at=None).exists()
