"""Rates of infrastructure errors: what is counted, and what the page shows to whom."""

import pytest
from django.test import Client
from django.urls import reverse

from runs.models import Run, RunStatus, User
from runs.operations.health import infrastructure
from runs.operations.health.infrastructure import error_rates
from tests.runs.factories import make_agent, make_experiment, make_run, make_task
from webagent.measures import wilson_bounds
from webagent.trajectory.faults import Fault

pytestmark = pytest.mark.django_db


def attempt(fault: str = "", **fields: object) -> Run:
    """An ended attempt that was made here; with a fault it is an error."""
    values: dict[str, object] = {"source_format": "crosscheck-agent", "steps": 0, "pictures": False}
    if fault:
        values |= {"status": RunStatus.FAILED, "outcome": "error", "reward": None, "fault": fault}
    return make_run(**{**values, **fields})  # type: ignore[arg-type]  # fields of a model by name


def test_the_column_has_the_words_of_the_engine() -> None:
    assert set(Run.Fault.values) == {fault.value for fault in Fault}


def test_every_attempt_counts_for_itself_and_every_trial_once() -> None:
    task = make_task(site="map")
    first = attempt("http_5xx", task=task, superseded=True)
    second = attempt("browser_crash", task=task, retry_of=first, attempt=2, superseded=True)
    attempt(task=task, retry_of=second, attempt=3)
    attempt("http_5xx", task=task)  # its last attempt
    attempt(task=make_task(site="reddit"), outcome="failure", reward=0.0)
    rates = error_rates(Run.objects.all())
    all_of_them = rates.overall
    assert (all_of_them.attempts, all_of_them.errors) == (5, 3)
    assert (all_of_them.trials, all_of_them.never_through) == (3, 1)
    assert all_of_them.share == 0.6
    assert all_of_them.interval == wilson_bounds(3, 5)
    assert [(found.fault, found.attempts) for found in all_of_them.faults] == [
        ("http_5xx", 2),
        ("browser_crash", 1),
    ]
    assert [(rate.name, rate.errors, rate.attempts) for rate in rates.by_site] == [
        ("map", 3, 4),
        ("reddit", 0, 1),
    ]


def test_an_error_of_the_agent_itself_is_none_of_the_infrastructure() -> None:
    attempt(status=RunStatus.FAILED, outcome="error", error_origin="agent")
    assert error_rates(Run.objects.all()).overall.errors == 0


def test_what_was_cancelled_runs_or_came_from_another_tool_is_not_counted() -> None:
    attempt(status=RunStatus.CANCELLED)
    attempt(status=RunStatus.RUNNING)
    attempt(source_format="agentlab")
    overall = error_rates(Run.objects.all()).overall
    assert (overall.attempts, overall.share, overall.interval) == (0, None, None)


def test_groups_are_told_apart_with_the_worst_first() -> None:
    noon = make_experiment("noon")
    attempt("provider_overloaded", agent=make_agent("b", "m"), experiment=noon)
    attempt(agent=make_agent("a", "m"))
    rates = error_rates(Run.objects.all())
    assert [rate.name for rate in rates.by_agent] == ["b · m", "a · m"]
    assert [(rate.name, rate.share) for rate in rates.by_experiment] == [("noon", 1.0), ("", 0.0)]


def test_it_is_one_query(django_assert_num_queries) -> None:
    for _ in range(3):
        attempt("worker_lost")
    with django_assert_num_queries(1):
        error_rates(Run.objects.all())


def test_the_page_tells_the_rates(client: Client, engineer: User) -> None:
    attempt("http_429", agent=make_agent("walker", "m"))
    attempt(agent=make_agent("walker", "m"))
    client.force_login(engineer)
    page = client.get(reverse("runs:infrastructure"))
    assert page.status_code == 200
    text = page.content.decode()
    assert "50.0 %" in text
    assert "site limits requests (429)" in text
    assert "walker · m" in text


def test_work_that_no_worker_takes_is_named(
    client: Client, engineer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(engineer)
    address = reverse("runs:infrastructure")
    assert "no worker takes" not in client.get(address).content.decode()
    monkeypatch.setattr(infrastructure, "neglected", lambda: {"judge"})
    assert "Work waits that no worker takes: judge." in client.get(address).content.decode()
