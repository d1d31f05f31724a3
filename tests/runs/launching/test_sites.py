"""Sites that are not ready: who asks them, and what a run does meanwhile."""

import json
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from runs.launching import running
from runs.launching import sites as runs_sites
from runs.launching.reruns.services import queue_run
from runs.launching.running import execute
from runs.launching.sites import sites_during, unready_sites
from runs.models import Run, Task
from runs.queue.leases import LeaseRenewer
from tests.runs.factories import make_run, make_task, make_user
from tests.runs.launching.test_execution import Page
from tests.webagent.sites import Sites
from webagent.agents.running import run_episode
from webagent.environment.browser import OWNER_VARIABLE
from webagent.trajectory.records import RunRecord

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.sqlite_only("asks no database anything special; test_execution.py runs on both"),
]
LOGIN = "/customer/account/login/"
INSTALLING: tuple[int, dict[str, str], bytes] = (200, {}, b"Installing")


@pytest.fixture
def sites(settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sites]:
    """All sites as they should be, asked anew every time."""
    monkeypatch.setattr(runs_sites, "_known", {})
    monkeypatch.setattr(runs_sites, "FRESH_S", 0.0)
    with Sites() as running_sites:
        settings.SITE_HOSTS = running_sites.hosts
        settings.MAP_BACKENDS = running_sites.backends
        yield running_sites


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Page:
    page = Page()

    def on_page(*args: Any, **options: Any) -> RunRecord:
        return run_episode(*args, **options, environment=page)

    monkeypatch.setattr(running, "run_episode", on_page)
    monkeypatch.setattr(LeaseRenewer, "_beat", lambda self: None)
    monkeypatch.setenv(OWNER_VARIABLE, "")
    return page


def queued_on(*sites: str) -> Run:
    run = queue_run(task="miniwob.click-test", agent="looping", seed=5, max_steps=2)
    Task.objects.filter(pk=run.task_id).update(sites=list(sites))
    return run


def now(run: Run) -> Run:
    return Run.objects.get(pk=run.pk)


def test_tasks_name_their_sites_by_list_or_start(sites: Sites) -> None:
    sites.answers[LOGIN] = INSTALLING
    shop = make_task(sites=["Shopping"])
    start = make_task(start_urls=["__SHOPPING__/sale.html"])
    forum = make_task(sites=["reddit"])
    assert [state.site for state in unready_sites([shop, forum])] == ["shopping"]
    assert [state.why for state in unready_sites([start])] == [
        'login: name="login[username]" is not on the page'
    ]
    assert unready_sites([forum]) == []


def test_tasks_that_need_no_configured_site_ask_nobody(sites: Sites) -> None:
    assert unready_sites([make_task(sites=["miniwob"]), make_task(sites=["larkfield"])]) == []
    assert sites.asked == []


def test_answers_hold_for_some_seconds(sites: Sites) -> None:
    task = make_task(sites=["homepage"])
    for _ in range(3):
        unready_sites([task], max_age_s=60)
    assert sites.asked == ["/"]


def test_a_run_waits_for_its_site_and_spends_no_attempt(sites: Sites, page: Page) -> None:
    sites.answers[LOGIN] = INSTALLING
    run = queued_on("shopping")
    assert execute(run.pk)
    waiting = now(run)
    assert (waiting.status, waiting.attempt, waiting.n_steps) == ("queued", 1, 0)
    assert waiting.not_before is not None
    assert waiting.not_before > timezone.now()
    assert waiting.waits_since is not None
    assert not execute(run.pk), "it may not be claimed before its time"
    assert page.taken == 0
    sites.answers.clear()
    Run.objects.filter(pk=run.pk).update(not_before=None)
    assert execute(run.pk)
    ended = now(run)
    assert (ended.status, ended.attempt, ended.n_steps) == ("finished", 1, 2)
    assert [(d.site, d.at_start, d.at_end) for d in sites_during(ended)] == [
        ("shopping", True, True)
    ]


def test_a_run_does_not_wait_for_ever(sites: Sites, page: Page) -> None:
    sites.answers[LOGIN] = (503, {}, b"")
    run = queued_on("shopping")
    patience = timedelta(seconds=django_settings.ENV.SITE_PATIENCE_S)
    Run.objects.filter(pk=run.pk).update(waits_since=timezone.now() - patience)
    assert execute(run.pk)
    ended = now(run)
    assert (ended.status, ended.outcome, ended.end_reason) == ("failed", "error", "never_started")
    assert (ended.fault, ended.error_origin) == ("site_not_ready", "environment")
    assert "login: HTTP 503" in ended.error_message
    assert not Run.objects.filter(retry_of=run).exists()


def test_a_site_that_breaks_during_the_run_is_told(sites: Sites, page: Page) -> None:
    def breaks(record: object) -> None:
        sites.answers[LOGIN] = INSTALLING

    run = queued_on("shopping")
    assert execute(run.pk, on_step=breaks)
    (during,) = sites_during(now(run))
    assert (during.at_start, during.at_end, during.was_ready) == (True, False, False)
    assert "login" in during.why


@pytest.mark.parametrize(
    "sites_told", [5, {"start": 5}, {"start": [3]}, {"now": [{"site": "a"}]}, [], None]
)
def test_records_of_others_are_not_trusted(sites_told: object) -> None:
    run = make_run(record={"extra": {"sites": sites_told}}, steps=0, pictures=False)
    assert sites_during(run) == []


def test_the_command_tells_what_is_not_ready(sites: Sites) -> None:
    out = StringIO()
    call_command("check_sites", stdout=out)
    assert out.getvalue().count("not ready") == 0
    sites.answers[LOGIN] = INSTALLING
    with pytest.raises(SystemExit) as caught:
        call_command("check_sites", stdout=out)
    assert caught.value.code == 1
    assert out.getvalue().count("not ready") == 1


def test_the_command_answers_in_json(sites: Sites) -> None:
    out = StringIO()
    call_command("check_sites", "map", "--json", stdout=out)
    (site,) = json.loads(out.getvalue())["sites"]
    assert (site["site"], site["ready"]) == ("map", True)
    assert {probe["aspect"] for probe in site["probes"]} >= {"routing", "tiles", "search"}


def test_the_command_knows_only_configured_sites(sites: Sites, settings) -> None:
    with pytest.raises(CommandError, match="SITE_HOSTS does not name nowhere"):
        call_command("check_sites", "nowhere", stdout=StringIO())
    settings.SITE_HOSTS = {}
    out = StringIO()
    call_command("check_sites", stdout=out)
    assert "nothing to ask" in out.getvalue()


def test_the_page_lists_the_sites(sites: Sites, client: Client) -> None:
    sites.answers[LOGIN] = INSTALLING
    client.force_login(make_user("engineer"))
    text = client.get(reverse("runs:infrastructure_sites")).content.decode()
    assert text.count("not ready") == 1
    assert sites.url in text


def test_the_run_page_tells_how_the_sites_were(client: Client) -> None:
    told = {"start": [{"site": "shopping", "ready": True}], "end": [{"site": "shopping"}]}
    run = make_run(record={"extra": {"sites": told}}, fault="http_5xx")
    client.force_login(make_user("engineer"))
    text = client.get(reverse("runs:run_detail", args=[run.pk])).content.decode()
    assert "<dd>not ready" in text
    assert "was not ready when this run ended" in text
    assert "server error (5xx)" in text
