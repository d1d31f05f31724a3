"""Saved views of the runs table, and the preview beside it."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.interface.lists import MOST, query_of
from runs.models import User
from runs.models.people import SavedView
from tests.judging.factories import annotators_of, make_study
from tests.runs.factories import client_of, make_run, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]
URL = "/runs/"


def save(user: User, name: str = "Failures", query: str = "outcome=failure", **more: str) -> None:
    sent = {"name": name, "query": query, "next": URL} | more
    answer = client_of(user).post(reverse("runs:view_save"), sent)
    assert answer.status_code == 302


def test_a_view_is_offered_under_its_name(engineer: User) -> None:
    save(engineer, query="outcome=failure&page=3&after=x")
    view = engineer.saved_views.get()
    assert view.query == "outcome=failure"
    page = client_of(engineer).get(f"{URL}?outcome=failure").content.decode()
    assert re.search(rf'href="{URL}\?outcome=failure"\s+aria-current="true"', page)


def test_the_same_name_replaces_the_view(engineer: User) -> None:
    save(engineer)
    save(engineer, query="outcome=error")
    assert engineer.saved_views.get().query == "outcome=error"


def test_shared_views_are_for_who_may_see_all_runs(engineer: User) -> None:
    save(engineer, name="Runs that a blind person must not know of", is_shared="on")
    save(engineer, name="Private")
    other, annotator = make_user("engineer"), make_user("annotator")
    assert [view.name for view in SavedView.objects.offered_to(other)] == [
        "Runs that a blind person must not know of"
    ]
    assert not SavedView.objects.offered_to(annotator).exists()
    assert "must not know of" not in client_of(annotator).get(URL).content.decode()


def test_who_may_not_see_all_runs_shares_no_view(engineer: User) -> None:
    annotator = make_user("annotator")
    save(annotator, name="For myself", is_shared="on")
    assert annotator.saved_views.get().name == "For myself"
    assert not SavedView.objects.offered_to(engineer).exists()


def test_a_default_view_opens_instead_of_all_runs(engineer: User) -> None:
    save(engineer)
    view = engineer.saved_views.get()
    client = client_of(engineer)
    default = reverse("runs:view_default", args=[view.pk])
    client.post(default, {"next": URL})
    assert client.get(URL)["Location"] == f"{URL}?outcome=failure"
    make_run(outcome="success", pictures=False)
    shown = client.get(f"{URL}?outcome=failure").content.decode()
    assert f"{URL}?all=1" in shown  # the way back to all of them
    assert client.get(f"{URL}?all=1").status_code == 200
    client.post(default, {"next": URL})
    assert client.get(URL).status_code == 200


def test_views_are_asked_for_once(engineer: User) -> None:
    save(engineer)
    client = client_of(engineer)
    client.post(reverse("runs:view_default", args=[engineer.saved_views.get().pk]))
    with CaptureQueriesContext(connection) as asked:
        client.get(f"{URL}?outcome=failure")
    table = SavedView._meta.db_table
    assert sum(table in query["sql"] for query in asked) == 1


def test_a_default_view_without_filters_opens_the_whole_list(engineer: User) -> None:
    save(engineer, query="")
    client = client_of(engineer)
    client.post(reverse("runs:view_default", args=[engineer.saved_views.get().pk]))
    assert client.get(URL).status_code == 200


def test_each_list_has_views_columns_and_a_default_of_its_own(engineer: User) -> None:
    make_run(pictures=False)
    save(engineer)
    save(engineer, list="task", query="site=shopping", next="")
    assert engineer.saved_views.count() == 2
    view, client = engineer.saved_views.get(list_name="task"), client_of(engineer)
    answer = client.post(reverse("runs:view_default", args=[view.pk]))
    assert answer["Location"] == "/tasks/"
    assert client.get("/tasks/")["Location"] == "/tasks/?site=shopping"
    assert client.get(URL).status_code == 200
    client.post(reverse("runs:list_columns"), {"list": "task", "column": ["site", "evil"]})
    shown = client.get("/tasks/?all=1").content.decode()
    assert re.findall(r"<th scope[^>]*>(?:<a[^>]*>)?([^<]+)", shown) == ["Goal", "Site"]
    engineer.refresh_from_db()
    assert "run_columns" not in engineer.preferences
    assert client.post(reverse("runs:list_columns"), {"list": "x"}).status_code == 404


def test_a_default_view_that_is_gone_is_none(engineer: User) -> None:
    save(engineer)
    client = client_of(engineer)
    view = engineer.saved_views.get()
    client.post(reverse("runs:view_default", args=[view.pk]))
    client.post(reverse("runs:view_delete", args=[view.pk]))
    assert client.get(URL).status_code == 200


def test_nobody_deletes_the_view_of_another(engineer: User) -> None:
    save(engineer, is_shared="on")
    address = reverse("runs:view_delete", args=[engineer.saved_views.get().pk])
    assert client_of(make_user("engineer")).post(address).status_code == 404
    assert engineer.saved_views.count() == 1


@pytest.mark.parametrize(
    "wrong", [{"name": ""}, {"name": "x" * 101}, {"query": "a=" + "x" * 3000}, {"name": "a\0b"}]
)
def test_what_cannot_be_a_view_is_refused_in_words(engineer: User, wrong: dict[str, str]) -> None:
    sent = {"name": "Failures", "query": "outcome=failure", "next": URL} | wrong
    answer = client_of(engineer).post(reverse("runs:view_save"), sent, follow=True)
    assert "Not saved: " in answer.content.decode()
    assert not engineer.saved_views.exists()


@pytest.mark.slow
def test_a_person_has_so_many_views_and_no_more(engineer: User) -> None:
    for number in range(MOST + 1):
        save(engineer, name=f"view {number}")
    assert engineer.saved_views.count() == MOST


def test_two_addresses_of_one_list_are_one_view() -> None:
    assert query_of("site=b&outcome=failure&page=2") == query_of("outcome=failure&site=b")


def test_going_back_never_leaves_the_site(engineer: User) -> None:
    sent = {"name": "x", "query": "", "next": "https://elsewhere.example/"}
    answer = client_of(engineer).post(reverse("runs:view_save"), sent)
    assert answer["Location"] == URL


def test_the_preview_shows_the_answer_and_the_last_screenshot(engineer: User) -> None:
    run = make_run(goal="Buy <it>", final_answer="<b>done</b>", outcome="success")
    shown = client_of(engineer).get(reverse("runs:run_preview", args=[run.pk])).content.decode()
    assert "Buy &lt;it&gt;" in shown
    assert "&lt;b&gt;done&lt;/b&gt;" in shown
    last = run.steps.order_by("-index").first()
    assert last is not None
    assert f"/blobs/{last.screenshot_id}" in shown
    assert "success" in shown


def test_the_preview_hides_from_annotators_what_the_page_hides() -> None:
    study = make_study(runs=[make_run(outcome="success", pictures=False)])
    run = study.items.get().run
    shown = client_of(annotators_of(study)[0]).get(reverse("runs:run_preview", args=[run.pk]))
    assert "success" not in shown.content.decode()
    assert (
        client_of(make_user("annotator"))
        .get(reverse("runs:run_preview", args=[run.pk]))
        .status_code
        == 404
    )
