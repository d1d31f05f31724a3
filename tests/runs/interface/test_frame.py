"""The frame around every page: rooms, jobs, theme, language, errors, the policy."""

import re
from uuid import UUID

import pytest
from django.test import Client

from runs.models import ImportJob, LearningJob
from tests.runs.factories import PASSWORD, client_of, make_run, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what pages show")]


def rooms(page: str) -> list[str]:
    nav = page[page.index('<nav class="rooms"') :].split("</nav>")[0]
    return re.findall(r">([A-Z][a-z]+)</a>", nav)


def test_an_engineer_has_the_rooms_of_the_role():
    page = client_of(make_user("engineer")).get("/runs/").content.decode()
    assert rooms(page) == ["Runs", "Studies", "Audit", "Experiments", "Tasks"]
    assert re.search(r'href="/runs/" aria-current="true"', page)


@pytest.mark.parametrize(
    ("path", "room"), [("/", None), ("/policies/", "/runs/"), ("/hints/", "/experiments/")]
)
def test_the_room_of_a_page_is_marked(path, room):
    page = client_of(make_user("engineer")).get(path).content.decode()
    assert re.findall(r'href="([^"]+)" aria-current="true"', page) == ([room] if room else [])


def test_jobs_are_a_page_of_their_own_for_whoever_opens_their_address():
    client = client_of(make_user("engineer"))
    assert "<h1>Jobs in progress</h1>" in client.get("/jobs/").content.decode()
    drawer = client.get("/jobs/", headers={"HX-Request": "true"}).content.decode()
    assert "<h2>Jobs in progress</h2>" in drawer
    assert "<html" not in drawer


def test_an_annotator_has_no_door_that_does_not_open():
    page = client_of(make_user("annotator")).get("/runs/").content.decode()
    assert set(rooms(page)) <= {"Studies"}


def test_logging_in_leads_to_the_page_asked_for():
    make_user("engineer", "mika")
    response = Client().post(
        "/login/?next=/runs/", {"username": "mika", "password": PASSWORD, "next": "/runs/"}
    )
    assert response["Location"] == "/runs/"


def test_a_wrong_password_is_said():
    make_user("engineer", "mika")
    page = Client().post("/login/", {"username": "mika", "password": "guess"}).content.decode()
    assert "Wrong user name or password" in page
    assert "guess" not in page


def test_logging_out_needs_a_post():
    client = client_of(make_user())
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").status_code == 302
    assert client.get("/runs/").status_code == 302


@pytest.mark.parametrize(
    ("cookie", "theme"), [("dark", "dark"), ("light", "light"), ('"><script>', "auto")]
)
def test_the_theme_is_remembered(cookie, theme):
    client = Client()
    client.cookies["theme"] = cookie
    assert f'data-theme="{theme}"' in client.get("/login/").content.decode()


def test_the_language_is_switched_by_post():
    client = Client()
    response = client.post("/language/", {"language": "ja", "next": "/login/"})
    assert response["Location"] == "/login/"
    assert '<html lang="ja"' in client.get("/login/").content.decode()


@pytest.mark.parametrize("url", ["/login/", "/runs/", "/nowhere/"])
def test_nothing_inline_on_any_page(url):
    response = client_of(make_user()).get(url)
    page = response.content.decode()
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert "unsafe" not in response["Content-Security-Policy"]
    assert not re.search(r"\s(style|on[a-z]+)=", page)
    assert "<style" not in page
    for attributes in re.findall(r"<script([^>]*)>", page):
        assert "src=" in attributes or 'type="application/json"' in attributes


@pytest.mark.parametrize("user", [None, "annotator"])
def test_a_wrong_address_says_so(user):
    client = client_of(make_user(user)) if user else Client()
    response = client.get("/nowhere/")
    assert response.status_code == 404
    assert "Not found" in response.content.decode()


def test_what_is_missing_leads_to_its_list():
    client = client_of(make_user("annotator"))
    page = client.get(f"/runs/{UUID(int=0)}/")
    assert page.status_code == 404
    text = page.content.decode()
    assert "This no longer exists, or you may not see it." in text
    assert '<a class="button primary" href="/runs/">Runs</a>' in text
    compared = client.get("/runs/compare/").content.decode()
    assert '<a class="button primary" href="/runs/">Runs</a>' in compared


def test_a_stale_form_says_what_to_do():
    client = Client(enforce_csrf_checks=True)
    response = client.post("/login/", {"username": "a", "password": "b"})
    assert response.status_code == 403
    assert "out of date" in response.content.decode()


def test_a_broken_page_says_so_without_the_database(monkeypatch):
    monkeypatch.setattr("runs.viewer.run_list.views.RunTable", lambda *args: 1 / 0)
    client = client_of(make_user())
    client.raise_request_exception = False
    response = client.get("/runs/")
    assert response.status_code == 500
    assert "Something went wrong" in response.content.decode()
    assert response["X-Request-ID"] in response.content.decode()


class TestJobs:
    URLS = ("/jobs/", "/jobs/count/")

    def test_runs_that_wait_or_work_are_counted(self):
        for status in ("queued", "running", "finished"):
            make_run(steps=0, status=status, goal=f"goal of the {status} one")
        client = client_of(make_user())
        assert ">2</span>" in client.get("/jobs/count/").content.decode()
        drawer = client.get("/jobs/").content.decode()
        assert "goal of the queued one" in drawer
        assert "goal of the finished one" not in drawer

    def test_own_imports_are_counted_and_those_of_others_are_not(self):
        user = make_user()
        for owner in (user, make_user()):
            ImportJob.objects.create(
                created_by=owner, file_name=f"{owner.username}.zip", path="x", size=1
            )
        assert ">1</span>" in client_of(user).get("/jobs/count/").content.decode()
        assert f"{user.username}.zip" in client_of(user).get("/jobs/").content.decode()

    def test_own_learning_is_counted_and_leads_to_its_page(self):
        user = make_user()
        for owner in (user, make_user()):
            for kind, params in (("extract", {"name": "shop"}), ("hints", {})):
                LearningJob.objects.create(
                    created_by=owner, kind=kind, model=f"{owner.username}-{kind}", params=params
                )
        LearningJob.objects.create(created_by=user, kind="hints", model="m", state="finished")
        drawer = client_of(user).get("/jobs/").content.decode()
        assert ">2</span>" in client_of(user).get("/jobs/count/").content.decode()
        assert "extract web knowledge: shop" in drawer
        for job in LearningJob.objects.filter(created_by=user, state="queued"):
            assert f'href="{job.get_absolute_url()}"' in drawer

    def test_a_stranger_sees_none(self):
        make_run(steps=0, status="running", goal="not yours")
        assert "not yours" not in client_of(make_user("annotator")).get("/jobs/").content.decode()

    @pytest.mark.slow
    @pytest.mark.parametrize("url", URLS)
    def test_query_count_does_not_grow(self, url, django_assert_max_num_queries):
        client = client_of(make_user())

        def count(runs: int) -> int:
            for _ in range(runs):
                make_run(steps=0, status="running")
            client.get(url)
            with django_assert_max_num_queries(20) as counted:
                client.get(url)
            return len(counted)

        assert count(1) == count(10)

    def test_the_number_reads_no_rows(self, django_assert_max_num_queries):
        client = client_of(make_user())
        make_run(steps=0, status="running")
        with django_assert_max_num_queries(20) as counted:
            client.get("/jobs/count/")
        assert not [query for query in counted if "LIMIT 30" in (query["sql"] or "")]
