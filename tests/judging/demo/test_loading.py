"""Loading the demo from the home page: started once, watched, and what went wrong is said."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from judging.demo import EXPERIMENT, DemoError, loading
from judging.models import Study
from runs.models import AuditEntry
from tests.judging.factories import make_study
from tests.runs.factories import client_of, make_experiment, make_run, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests what a page shows")]
PART = {"HX-Request": "true"}
URL = "/demo/"


@pytest.fixture(autouse=True)
def asked(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks that workers are asked for."""
    settings.ALLOWS_DEMO = True
    sent: list[str] = []

    def ask_for(task: str) -> bool:
        sent.append(task)
        return True

    monkeypatch.setattr(loading, "ask_for", ask_for)
    return sent


@pytest.fixture
def client() -> Client:
    return client_of(make_user("engineer"))


def part(client: Client, method: str = "get") -> str:
    answer = getattr(client, method)(URL, headers=PART)
    assert answer.status_code == 200
    text: str = answer.content.decode()
    return text


def test_it_is_asked_for_once_and_counts_the_runs_that_are_here(
    client: Client, asked: list[str]
) -> None:
    assert "every 1s" not in part(client)
    make_run(experiment=make_experiment(EXPERIMENT), pictures=False)
    for _ in range(2):
        assert "every 1s" in part(client, "post")
    assert asked == [loading.LOAD]
    assert '<progress value="1"' in part(client)


def test_home_opens_once_all_is_here_and_not_with_the_study(client: Client) -> None:
    part(client, "post")
    make_study(runs=1)
    Study.objects.update(is_demo=True)
    assert "every 1s" in part(client), "evaluators, tags and hints are still to come"
    loading.load_asked_demo()
    assert client.get(URL, headers=PART)["HX-Redirect"] == reverse("judging:home")


def test_what_a_command_loaded_is_not_asked_for(client: Client, asked: list[str]) -> None:
    make_study(runs=1)
    Study.objects.update(is_demo=True)
    assert client.post(URL, headers=PART)["HX-Redirect"] == reverse("judging:home")
    assert asked == []


def test_whoever_waited_long_may_ask_again(client: Client, asked: list[str]) -> None:
    part(client, "post")
    later = timezone.now() + timedelta(minutes=16)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(timezone, "now", lambda: later)
        assert "every 1s" not in part(client)
    assert len(asked) == 1


def test_what_went_wrong_is_said(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise DemoError("the <shipped> runs are damaged")

    part(client, "post")
    monkeypatch.setattr(loading, "load_demo", refuse)
    loading.load_asked_demo()
    assert "the &lt;shipped&gt; runs are damaged" in part(client)
    assert AuditEntry.objects.filter(kind="demo.failed").count() == 1


def test_without_a_broker_the_page_says_so(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "ask_for", lambda task: False)
    assert "No worker can be reached." in part(client, "post")


def test_the_demo_is_not_loaded_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    make_study(runs=1)
    Study.objects.update(is_demo=True)
    monkeypatch.setattr(loading, "load_demo", lambda: pytest.fail("it is here"))
    loading.load_asked_demo()


def test_only_who_imports_and_manages_studies_loads_it(asked: list[str]) -> None:
    assert client_of(make_user("annotator")).post(URL).status_code == 403
    assert Client().post(URL).status_code == 302
    assert asked == []
