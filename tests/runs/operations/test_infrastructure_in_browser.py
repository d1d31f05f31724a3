"""A site out of order, a browser that is killed, a provider that says 429: whole runs of it."""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from pydantic import JsonValue

from runs.launching.policies.services import save_policy
from runs.launching.reruns.services import queue_run
from runs.launching.running import execute
from runs.models import RetryPolicy, Run
from runs.operations.health.infrastructure import error_rates
from runs.queue.leases import LeaseRenewer
from tests.runs.factories import client_of, make_user
from tests.runs.live_workers import attempts_of
from tests.webagent import moody_suite
from tests.webagent.agents.generic.made import act
from tests.webagent.llm.protocols import Asked
from tests.webagent.llm.stub import LLMStub, fail
from tests.webagent.moody_site import MoodySite
from tests.webagent.processes import browsers, descendants
from webagent.agents import registry as generic_models
from webagent.environment.browser import OWNER_VARIABLE
from webagent.llm.client import RetryLimits
from webagent.recovery.retry_policy import Infrastructure, PolicyBody
from webagent.trajectory.faults import Fault
from webagent.trajectory.records import StepRecord

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.browser]


@pytest.fixture(autouse=True)
def soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.ENV, "RETRY_BACKOFF_S", 0.001)
    monkeypatch.setattr(LeaseRenewer, "_beat", lambda self: None)
    monkeypatch.setenv(OWNER_VARIABLE, "")


@pytest.fixture
def site() -> Iterator[MoodySite]:
    with MoodySite() as running:
        moody_suite.use(running)
        yield running


def solve(
    site: MoodySite,
    on_step: Callable[[StepRecord], None] | None = None,
    policy: RetryPolicy | None = None,
) -> list[Run]:
    """Every attempt of an agent that opens the page where the task is solved."""
    config: dict[str, JsonValue] = {"action": f"goto('{site.url}/done')"}
    run = queue_run(
        task=moody_suite.TASK, agent="looping", agent_config=config, max_steps=3, policy=policy
    )
    while (latest := attempts_of(run.pk)[-1]).is_active:
        Run.objects.filter(pk=latest.pk).update(not_before=None)
        assert execute(latest.pk, on_step=on_step)
    return attempts_of(run.pk)


def test_a_site_that_says_503_three_times_costs_an_attempt_and_no_verdict(site: MoodySite) -> None:
    site.fails("/", [503, 503, 503])
    body = PolicyBody(infrastructure=Infrastructure(faults=(Fault.HTTP_5XX,), attempts=2))
    policy = save_policy(name="Patient with sites", body=body, is_new=True)
    first, second = solve(site, policy=policy)
    assert first.policy == second.policy == policy
    assert (first.outcome, first.fault, first.superseded) == ("error", "http_5xx", True)
    assert first.reward is None
    assert (second.outcome, second.fault, second.reward) == ("success", "", 1.0)
    # Two answers in the first attempt, then one more, and the page.
    assert site.statuses("/") == [503, 503, 503, 200]
    retries = [run.record["environment"]["site_retries"] for run in (first, second)]
    assert retries == [1, 1]
    overall = error_rates(Run.objects.all()).overall
    assert (overall.attempts, overall.errors, overall.never_through) == (2, 1, 0)
    client = client_of(make_user("engineer"))
    pages = [client.get(f"/runs/{run.pk}/").content.decode() for run in (first, second)]
    assert f'href="/runs/{second.pk}/"' in pages[0]
    assert "Patient with sites" in pages[1]
    assert "50.0" in client.get("/reruns/infrastructure/").content.decode()


def test_a_site_that_stays_out_of_order_ends_as_its_error_after_all_attempts(
    site: MoodySite,
) -> None:
    site.always["/"] = 503
    attempts = solve(site)
    assert len(attempts) == settings.ENV.MAX_ATTEMPTS
    assert [run.fault for run in attempts] == ["http_5xx"] * 3
    assert [run.outcome for run in attempts] == ["error"] * 3
    overall = error_rates(Run.objects.all()).overall
    assert (overall.share, overall.trials, overall.never_through) == (1.0, 1, 1)


def test_a_browser_that_is_killed_in_mid_run_is_no_failure_of_the_agent(site: MoodySite) -> None:
    site.always["/done"] = 404  # so that the run goes on after its first step
    killed: list[int] = []

    def kill_once(step: StepRecord) -> None:
        if not killed:
            killed.extend(browsers(descendants()))
            os.kill(killed[0], signal.SIGKILL)
            site.always.clear()

    first, second = solve(site, kill_once)
    assert len(killed) == 1
    assert (first.outcome, first.fault, first.n_steps) == ("error", "browser_crash", 2)
    assert (second.outcome, second.attempt) == ("success", 2)


@pytest.fixture
def models(tmp_path: Path, llm_stub: LLMStub, monkeypatch: pytest.MonkeyPatch) -> Iterator[LLMStub]:
    path = tmp_path / "models.toml"
    path.write_text(
        f'[models.clicker]\nprovider = "openai"\napi = "chat"\nmodel = "c-1"\n'
        f'base_url = "{llm_stub.openai_url}"\n'
    )
    monkeypatch.setattr(settings.ENV, "MODELS_FILE", path)
    monkeypatch.setattr(settings.ENV, "MAX_ATTEMPTS", 1)
    # As long between tries as the provider asks for, and not a moment longer.
    monkeypatch.setattr(RetryLimits, "delay", lambda self, tries, retry_after, chance: retry_after)
    yield llm_stub
    generic_models._shared.client().close()


def run_generic() -> None:
    config = {"model": "clicker", "benchmark": "miniwob"}
    call_command(
        *("run_agent", "--task", "miniwob.click-test", "--agent", "generic", "--seed", "3"),
        *("--agent-config", json.dumps(config)),
        stdout=StringIO(),
        stderr=StringIO(),
    )


def clicks(asked: Asked) -> str:
    found = re.search(r"\[(\w+)\] button", asked.text)
    assert found is not None
    return act(f"click('{found[1]}')")


def test_a_provider_that_says_429_three_times_is_waited_for(models: LLMStub) -> None:
    models.queue(*[fail(429, retry_after="0.05")] * 3)
    models.reply = clicks
    run_generic()
    run = Run.objects.get()
    assert (run.outcome, run.fault, run.attempt) == ("success", "", 1)
    assert len(models.asked) == 4


def test_a_provider_that_never_stops_is_an_error_of_its_own(models: LLMStub) -> None:
    models.queue(*[fail(429, retry_after="0.01")] * 50)
    with pytest.raises(CommandError, match="ended in an error"):
        run_generic()
    run = Run.objects.get()
    assert (run.outcome, run.error_origin) == ("error", "model")
    assert (run.fault, run.reward) == ("provider_rate_limited", None)
    assert run.record["error"]["fault"] == "provider_rate_limited"
