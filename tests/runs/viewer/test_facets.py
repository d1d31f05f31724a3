"""Counts beside the choices of filters, and all runs that match: as the list has them."""

import re
from collections.abc import Sequence
from html import unescape

import pytest
from django.db import connection
from django.http import QueryDict
from pytest_django import DjangoAssertNumQueries

from runs.models import Run, User
from runs.models.visibility import visibility_of
from runs.viewer.run_list import views as facets
from runs.viewer.run_list.filters import RunFilter
from tests.judging.factories import annotators_of, make_label, make_study
from tests.runs.factories import (
    client_of,
    make_agent,
    make_experiment,
    make_run,
    make_task,
    make_user,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def runs() -> list[Run]:
    """Of several sites, agents and outcomes; one with a loop, one superseded, one settled."""
    loop = {"kind": "loop", "first_step": 0, "last_step": 2}
    made = [
        make_run(outcome="success", pictures=False),
        make_run(outcome="failure", agent=make_agent("other", "model-b"), pictures=False),
        make_run(task=make_task("a", site="gitlab"), events=[loop], pictures=False),
        make_run(experiment=make_experiment("rare"), outcome="error", pictures=False),
        make_run(superseded=True, pictures=False),
    ]
    study = make_study(runs=made[:1])
    for person in annotators_of(study):
        make_label(study.items.get(), person)
    return made


MENUS = [
    "task_set",
    "site",
    "experiment",
    "agent",
    "model",
    "outcome",
    "anomaly",
    "status",
    "trajectory",
    "reference",
]
ITEM = re.compile(r'href="\?([^"]*)"[^>]*>[^<]*(?:<span class="muted num push">([^<]*))?')


def counts_of(user: User, query: str = "", menus: Sequence[str] = MENUS) -> dict[str, str]:
    """By the address of each choice of the menus: how many runs it says that it finds."""
    found: dict[str, str] = {}
    client = client_of(user)
    for name in menus:
        answer = client.get(f"/runs/facets/?menu={name}&{query}")
        assert answer.status_code == 200
        found |= {unescape(asked): n for asked, n in ITEM.findall(answer.content.decode()) if n}
    return found


def numbers_listed(user: User, query: str, menus: Sequence[str]) -> dict[str, str]:
    """By the address of each choice: how many runs the list holds with that choice alone."""
    visibility = visibility_of(user)

    def filtered(data: QueryDict) -> RunFilter:
        return RunFilter(data, visibility=visibility)

    found: dict[str, str] = {}
    page = filtered(QueryDict(query))
    assert [name for name, _ in page.menus] == MENUS
    for name in menus:
        for option in page.options(name):
            alone = QueryDict(query, mutable=True)
            alone.setlist(name, [option.value])
            found[option.query] = str(filtered(alone).qs.count())
    return found


QUERIES = (
    *("", "site=gitlab", "outcome=success&outcome=error", "agent=other", "anomaly=none", "q=x"),
    *("superseded=true", "reference=success", "status=finished&trajectory=here"),
)
ROLES = ["engineer", "judge", "annotator"]


@pytest.mark.parametrize("role", ROLES)
def test_each_choice_counts_what_it_lists(runs: list[Run], role: str) -> None:
    """For somebody who sees everything, who is blinded to some runs, and who sees only those.

    PostgreSQL is asked for each menu beside each query once, by one of them after the other.
    """
    user = make_user("annotator" if role == "annotator" else "engineer", "somebody")
    if role != "engineer":
        make_study(runs=runs[1:3], annotators=[user, make_user("annotator")])
    for place, query in enumerate(QUERIES, ROLES.index(role)):
        menus = MENUS if connection.vendor == "sqlite" else MENUS[place % len(ROLES) :: len(ROLES)]
        assert counts_of(user, query, menus) == numbers_listed(user, query, menus), query


def test_where_a_study_is_made_only_runs_to_judge_count(engineer: User, runs: list[Run]) -> None:
    make_run(outcome="success", status="running", pictures=False)
    counts, every = counts_of(engineer, "judgeable=1"), counts_of(engineer)
    assert (counts["status=running"], every["status=running"]) == ("0", "1")
    assert int(counts["outcome=success"]) == int(every["outcome=success"]) - 1


def test_counts_tell_nothing_of_hidden_runs(engineer: User) -> None:
    secret = make_agent("zq-agent", "zq-model")
    hidden = [make_run(outcome=each, agent=secret, pictures=False) for each in ("failure", "error")]
    make_study(runs=hidden, annotators=[engineer, make_user("annotator")])
    counts = counts_of(engineer)
    assert "zq" not in str(counts)
    assert {counts[f"outcome={each}"] for each in ("success", "failure", "error")} == {"0"}


def test_beyond_the_bound_counts_are_at_least(
    engineer: User, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facets, "COUNTED", 2)
    counts = counts_of(engineer)
    assert counts["site=gitlab"] == "1+"
    assert "outcome=failure" not in counts  # there may be some further down


def test_the_number_of_queries_is_constant(
    engineer: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    def count(rows: int) -> int:
        for _ in range(rows):
            make_run(agent=make_agent(f"agent {Run.objects.count()}"), pictures=False)
        client = client_of(engineer)
        client.get("/runs/facets/?menu=agent")
        with django_assert_max_num_queries(10) as counted:
            client.get("/runs/facets/?menu=agent")
        return len(counted)

    assert count(2) == count(20)


@pytest.mark.parametrize("address", ["/runs/facets/", "/tasks/menu/"])
@pytest.mark.parametrize("name", ["", "q", "nothing", "\0", "<b>"])
def test_what_has_no_menu_is_not_found(engineer: User, address: str, name: str) -> None:
    assert client_of(engineer).get(address, {"menu": name}).status_code == 404


def test_a_menu_that_offers_nothing_says_so(engineer: User) -> None:
    answer = client_of(engineer).get("/tasks/menu/?menu=site")
    assert "Nothing to choose." in answer.content.decode()


def chosen(user: User, query: str = "") -> tuple[list[str], str]:
    page = client_of(user).get(f"/runs/matching/?{query}").content.decode()
    return re.findall(r'name="run" value="([0-9a-f-]{36})"', page), page


def test_all_matching_runs_are_chosen_up_to_the_newest(
    engineer: User, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = [str(run.pk) for run in runs[3::-1]]
    assert chosen(engineer)[0] == listed
    assert chosen(engineer, "sort=created")[0] == listed
    assert chosen(engineer, "site=gitlab")[0] == [str(runs[2].pk)]
    assert "of more" not in chosen(engineer)[1]
    monkeypatch.setattr(facets, "MOST_CHOSEN", 3)
    first, page = chosen(engineer, "after=x&page=7")
    assert first == listed[:3]
    assert "the newest 3 of more" in page


def test_only_what_the_person_may_see_is_chosen(runs: list[Run]) -> None:
    study = make_study(runs=runs[:2])
    annotator = annotators_of(study)[0]
    make_label(study.items.get(run=runs[0]), annotator)
    assert chosen(annotator)[0] == [str(runs[0].pk)]
    assert chosen(annotator, "outcome=success")[0] == []
    assert chosen(make_user("annotator"))[0] == []
