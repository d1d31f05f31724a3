"""The runs table: what it shows, to whom, and how it is filtered and sorted."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from runs.models import Run, User
from runs.viewer.run_list.tables import all_columns
from tests.judging.factories import annotators_of, make_dispute, make_label, make_study
from tests.runs.factories import (
    client_of,
    make_agent,
    make_experiment,
    make_run,
    make_task,
    make_user,
)

pytestmark = pytest.mark.django_db
URL = "/runs/"
HTMX = {"HX-Request": "true"}


def listed(user: User, query: str = "") -> list[str]:
    """Ids of the rows, in order."""
    page = client_of(user).get(f"{URL}?{query}").content.decode()
    return re.findall(r'data-run="([0-9a-f-]{36})"', page)


def ids(*runs: Run) -> list[str]:
    return [str(run.pk) for run in runs]


def test_shows_the_newest_run_first(engineer):
    older, newer = make_run(pictures=False), make_run(pictures=False)
    assert listed(engineer) == ids(newer, older)


def test_a_lost_session_leaves_the_page_as_it_is():
    response = Client().get(URL, headers=HTMX)
    assert response.status_code == 401
    assert not response.content
    assert "HX-Redirect" not in response


def test_a_stranger_sees_no_run():
    make_run(pictures=False)
    page = client_of(make_user("annotator")).get(URL)
    assert "data-run" not in page.content.decode()
    assert "No runs for you yet" in page.content.decode()


def test_htmx_gets_the_table_alone_and_history_the_whole_page(engineer):
    make_run(pictures=False)
    client = client_of(engineer)
    fragment = client.get(URL, headers=HTMX)
    assert fragment.content.decode().strip().startswith('<div id="run-table"')
    assert "HX-Request" in fragment["Vary"]
    whole = client.get(URL, headers={**HTMX, "HX-History-Restore-Request": "true"})
    assert "<html" in whole.content.decode()


@pytest.mark.slow
def test_query_count_does_not_grow_with_rows(engineer, django_assert_max_num_queries):
    engineer.preferences = {"run_columns": list(all_columns())}
    engineer.save()

    def count(rows: int) -> int:
        for _ in range(rows):
            run = make_run(
                pictures=False, events=[{"kind": "loop", "first_step": 0, "last_step": 2}]
            )
            run.experiment = make_experiment()
            run.agent = make_agent(f"agent {run.pk}")
        client = client_of(engineer)
        client.get(URL)
        with django_assert_max_num_queries(16) as counted:
            client.get(URL)
        return len(counted)

    assert count(2) == count(20)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("site=gitlab", "wanted"),
        ("task=needle", "wanted"),
        ("agent=vision", "wanted"),
        ("model=model-z", "wanted"),
        ("outcome=error", "wanted"),
        ("experiment=rare", "wanted"),
        ("anomaly=loop", "wanted"),
        ("status=failed", "wanted"),
        ("q=LOGIN page", "wanted"),
        ("site=gitlab&site=shopping", "both"),
        ("site=gitlab&outcome=success", "none"),
        ("anomaly=none", "other"),
        ("anomaly=none&anomaly=loop", "both"),
        ("agent=nobody", "none"),
        ("task_set=x", "none"),
        ("page=nonsense", "both"),
        ("sort=nonsense", "both"),
    ],
)
@pytest.mark.slow
def test_filters(engineer, query, found):
    other = make_run(pictures=False)
    wanted = make_run(
        task=make_task("needle", site="gitlab", goal="Find the login page"),
        agent=make_agent("vision", "model-z"),
        experiment=make_experiment("rare"),
        outcome="error",
        status="failed",
        events=[{"kind": "loop", "first_step": 0, "last_step": 1}],
        pictures=False,
    )
    expected = {"wanted": ids(wanted), "other": ids(other), "both": ids(wanted, other), "none": []}
    assert listed(engineer, query) == expected[found]


@pytest.mark.slow
def test_words_find_a_run_by_the_beginning_of_its_id(engineer):
    run, other = make_run(pictures=False), make_run(goal="Order 12345678", pictures=False)
    for words in (str(run.pk), run.pk.hex[:8].upper(), str(run.pk)[:12]):
        assert listed(engineer, f"q={words}") == ids(run), words
    assert listed(engineer, "q=12345678") == ids(other)


def test_a_moment_in_the_address_leaves_what_came_later(engineer):
    run = make_run(pictures=False)
    assert listed(engineer, "added_after=2020-01-01T00:00:00Z") == ids(run)
    assert listed(engineer, "added_after=2999-01-01T00:00:00Z") == []
    for wrong in ("yesterday", "0001-01-01T00:00:00%2B14:00", "%00", "2020-01-01"):
        assert listed(engineer, f"added_after={wrong}") == ids(run)
    page = client_of(engineer).get(URL, {"added_after": "2020-01-01T00:00:00Z"}).content.decode()
    assert 'title="Remove filter"' in page


def test_a_nul_in_the_address_is_not_shown(engineer):
    run = make_run(pictures=False, goal="Find desk lamps")
    page = client_of(engineer).get(URL, {"q": "de\0sk"}).content.decode()
    assert f'data-run="{run.pk}"' in page
    assert 'name="q" value="desk"' in page
    assert "\0" not in page.split("<main")[1].split("data-run")[0].replace("%00", "")


def test_a_list_that_only_superseded_attempts_would_fill_says_so(engineer):
    make_run(pictures=False, superseded=True, outcome="error")
    make_run(pictures=False)
    client = client_of(engineer)
    page = client.get("/runs/?outcome=error").content.decode()
    assert "1 matching attempt was superseded" in page
    assert 'href="?outcome=error&amp;superseded=true"' in page
    assert "matching attempt" not in client.get("/runs/?outcome=failure").content.decode()


def test_superseded_attempts_only_when_asked_for(engineer):
    last = make_run(pictures=False)
    first = make_run(pictures=False, superseded=True)
    assert listed(engineer) == ids(last)
    assert listed(engineer, "superseded=true") == ids(first, last)


def test_chips_say_what_is_filtered_by_and_lead_out_of_it(engineer):
    make_run(task=make_task(site="gitlab"), pictures=False)
    page = client_of(engineer).get(f"{URL}?site=gitlab&outcome=success&page=2").content.decode()
    assert 'href="?outcome=success"' in page
    assert 'href="?site=gitlab"' in page
    assert re.search(r"Site:</span>\s*gitlab", page)


def test_what_is_typed_into_the_address_is_escaped(engineer):
    make_run(pictures=False)
    page = client_of(engineer).get(f"{URL}?site=%3Cscript%3Ealert(1)%3C/script%3E").content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_no_match_says_so_and_leads_back(engineer):
    make_run(pictures=False)
    page = client_of(engineer).get(f"{URL}?site=nowhere").content.decode()
    assert "Nothing matches these filters" in page
    assert "Show all" in page


def test_hostile_goal_is_escaped_and_beyond_htmx(engineer):
    goal = '<b hx-get="/logout/">x</b>'
    make_run(task=make_task(goal=goal), pictures=False)
    page = client_of(engineer).get(URL).content.decode()
    assert goal not in page
    assert re.search(r"<a [^>]*hx-disable[^>]*>&lt;b hx-get", page)


def test_the_page_says_more_than_when_there_are_more_than_are_counted(engineer, monkeypatch):
    monkeypatch.setattr("runs.viewer.run_list.pages.COUNTED_AT_ONCE", 3)
    for _ in range(5):
        make_run(steps=0, pictures=False)
    assert "more than 3 runs" in client_of(engineer).get(URL).content.decode()


class TestColumns:
    def test_are_remembered(self, engineer):
        make_run(pictures=False)
        client = client_of(engineer)
        response = client.post("/runs/columns/", {"column": ["site", "cost"], "next": "/runs/?q=a"})
        assert response["Location"] == "/runs/?q=a"
        engineer.refresh_from_db()
        assert engineer.preferences["run_columns"] == ["site", "cost"]
        heads = re.findall(r"<th[^>]*>\s*(?:<a[^>]*>)?([^<]+)", client.get(URL).content.decode())
        assert [head.strip() for head in heads if head.strip()] == ["Goal", "Site", "Cost"]

    @pytest.mark.parametrize(
        "back", ["x", "9", "\ufffd", "//evil.example/", "https://evil.example"]
    )
    def test_what_leads_nowhere_on_this_site_leads_back_to_the_list(self, engineer, back):
        response = client_of(engineer).post("/runs/columns/", {"next": back})
        assert (response.status_code, response["Location"]) == (302, "/runs/")

    def test_unknown_ones_are_left_out(self, engineer):
        client_of(engineer).post("/runs/columns/", {"column": ["reward", "site"]})
        engineer.refresh_from_db()
        assert engineer.preferences["run_columns"] == ["site"]

    def test_never_lead_to_another_site(self, engineer):
        response = client_of(engineer).post("/runs/columns/", {"next": "https://evil.example/"})
        assert response["Location"] == URL


class TestBlinding:
    """An engineer who annotates may list all runs, and is blinded to those of the study."""

    @pytest.fixture
    def hidden(self) -> Run:
        return make_run(
            agent=make_agent("secret-agent", "secret-model"),
            experiment=make_experiment("secret experiment"),
            outcome="failure",
            cost="12.3456",
            pictures=False,
        )

    @pytest.fixture
    def judge(self, hidden) -> User:
        user = make_user("engineer")
        user.preferences = {
            "run_columns": ["agent", "model", "experiment", "outcome", "reference", "cost"]
        }
        user.save()
        make_study(runs=[hidden], annotators=[user, make_user("annotator")])
        return user

    def test_names_outcome_and_cost_are_hidden(self, judge, hidden):
        page = client_of(judge).get(URL).content.decode()
        assert str(hidden.pk) in page
        for secret in ("secret-agent", "secret-model", "secret experiment", "12.34"):
            assert secret not in page
        row = page[page.index(f'data-run="{hidden.pk}"') :].split("</tr>")[0]
        assert "failure" not in row
        assert row.count("hidden") >= 2

    @pytest.mark.parametrize(
        "query",
        [
            "outcome=failure",
            "agent=secret-agent",
            "model=secret-model",
            "experiment=secret experiment",
            "reference=success",
            "reference=failure",
        ],
    )
    @pytest.mark.slow
    def test_no_filter_finds_what_is_hidden(self, judge, query):
        assert listed(judge, query) == []

    @pytest.mark.slow
    def test_no_order_tells_what_is_hidden(self, judge, hidden):
        """Another hidden run whose values lie on the other side stands in the same place."""
        other = make_run(
            agent=make_agent("a-agent", "a-model"),
            experiment=make_experiment("an experiment"),
            outcome="success",
            cost="0.0001",
            pictures=False,
        )
        make_study(runs=[other], annotators=[judge, make_user("annotator")])
        assert listed(judge, "sort=cost") == ids(other, hidden)
        assert listed(judge, "sort=-cost") == ids(hidden, other)  # alike: the other way round
        for few_values in ("outcome", "agent", "model", "experiment", "reference"):
            assert listed(judge, f"sort=-{few_values}") == listed(judge, "")

    @pytest.mark.slow
    def test_reference_verdict_shows_when_settled(self, judge, hidden):
        item = hidden.study_items.get()
        for user in annotators_of(item.study):
            make_label(item, user, "success")
        item.verdict.decided_at = item.verdict.decided_at.replace(year=2020)
        item.verdict.save()
        row = client_of(judge).get(URL).content.decode()
        assert "secret-agent" in row
        assert listed(judge, "reference=success") == ids(hidden)
        assert listed(judge, "reference=failure") == []

    def test_reference_verdict_of_a_dispute_is_not_there_yet(self):
        dispute = make_dispute()
        engineer = make_user("engineer")
        assert listed(engineer, "reference=success") == []
        assert str(dispute.item.run_id) in listed(engineer)


@pytest.mark.slow
def test_bulk_actions_only_for_those_who_may(engineer):
    make_run(pictures=False)
    assert 'name="run"' in client_of(engineer).get(URL).content.decode()
    study = make_study(runs=1, annotators=2)
    user = annotators_of(study)[0]
    make_label(study.items.get(), user)
    page = client_of(user).get(URL).content.decode()
    assert "data-run" in page
    assert 'name="run"' not in page
    assert reverse("runs:run_list") == URL
