"""A site that is out of order, in a real browser: what is waited for, and whose fault it is."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.webagent.environment.test_browsergym_environment import bid_of
from tests.webagent.moody_site import MoodySite, MoodyTask
from webagent.environment import browsergym_environment
from webagent.environment.browsergym_environment import BrowserGymEnvironment
from webagent.environment.browsergym_task import RetryWaits
from webagent.environment.interface import EnvironmentFailure
from webagent.trajectory.faults import Fault

pytestmark = pytest.mark.browser

QUICK = RetryWaits(first_wait_s=0.05, longest_wait_s=2.0)
ONCE = RetryWaits(first_wait_s=0.05, tries=1)
NEVER = RetryWaits(tries=0)


@pytest.fixture
def site() -> Iterator[MoodySite]:
    with MoodySite() as running:
        yield running


def environment(
    site: MoodySite,
    *,
    log_in: bool = False,
    foreign: frozenset[str] = frozenset(),
    patience: RetryWaits = QUICK,
) -> BrowserGymEnvironment:
    return BrowserGymEnvironment(
        MoodyTask,
        task_arguments={"url": site.url, "log_in": log_in},
        allowed_hosts=frozenset({"127.0.0.1"}),
        foreign_hosts=foreign,
        delay_s=0.1,
        step_timeout_s=20,
        patience=patience,
    )


def fault_of_step(opened: BrowserGymEnvironment, action: str) -> Fault:
    with pytest.raises(EnvironmentFailure) as caught:
        opened.step(action)
    return caught.value.fault


def test_a_start_that_is_refused_three_times_works_then(site: MoodySite) -> None:
    site.fails("/", [503] * 3)
    with environment(site) as opened:
        assert opened.reset(1).title == "Shop"
        assert site.statuses("/") == [503] * 3 + [200]
        assert opened.describe().site_retries == 3
        events = opened.step("noop(1)").events
        retries = [event for event in events if event["type"] == "site_retry"]
        assert [event["try"] for event in retries] == [1, 2, 3]
        assert "HTTP 503" in str(retries[0]["why"])


@pytest.mark.fault(7, "a site that answers 500 and 503")
def test_a_site_that_stays_out_of_order_ends_the_start(site: MoodySite) -> None:
    site.always["/"] = 503
    with environment(site, patience=ONCE) as opened:
        with pytest.raises(EnvironmentFailure, match="HTTP 503") as caught:
            opened.reset(1)
        assert caught.value.fault is Fault.HTTP_5XX
        assert site.statuses("/") == [503] * (1 + ONCE.tries)
        assert opened.describe().site_retries == ONCE.tries


def test_a_page_that_fails_in_mid_run_is_loaded_again_before_the_agent_sees_it(
    site: MoodySite,
) -> None:
    site.fails("/two", [503, 500, 429])
    with environment(site) as opened:
        opened.reset(1)
        result = opened.step(f"click({bid_of(opened, 'two')!r})")
        assert (result.observation.title, result.error) == ("Shop", None)
        assert site.statuses("/two") == [503, 500, 429, 200]
        assert opened.describe().site_retries == 3
        site.always["/two"] = 502
        assert fault_of_step(opened, f"goto('{site.url}/two')") is Fault.HTTP_5XX


def test_retry_after_is_respected_and_too_long_a_wait_is_not_begun(site: MoodySite) -> None:
    site.fails("/two", [(429, {"retry-after": "1"})])
    with environment(site) as opened:
        opened.reset(1)
        result = opened.step(f"goto('{site.url}/two')")
        assert [e["waited_s"] for e in result.events if e["type"] == "site_retry"] == [1.0]
        site.fails("/two", [(429, {"retry-after": "3600"})])
        with pytest.raises(EnvironmentFailure) as caught:
            opened.step(f"goto('{site.url}/two')")
        assert (caught.value.fault, caught.value.retry_after_s) == (Fault.HTTP_429, 3600)
        assert opened.describe().site_retries == 1


def test_what_a_form_sent_is_never_sent_again(site: MoodySite) -> None:
    site.fails("/send", [503])
    with environment(site) as opened:
        opened.reset(1)
        send = bid_of(opened, "send")
        assert fault_of_step(opened, f"click({send!r})") is Fault.HTTP_5XX
        assert site.statuses("/send") == [503]


def test_other_errors_are_the_agents_business(site: MoodySite) -> None:
    site.always |= {"/none": 404, "/forbidden": 403}
    with MoodySite() as elsewhere:
        elsewhere.always["/"] = 503
        foreign = frozenset({f"127.0.0.1:{elsewhere.port}"})
        with environment(site, foreign=foreign) as opened:
            opened.reset(1)
            for path in site.always:
                seen = opened.step(f"goto('{site.url}{path}')").observation
                assert seen.title.startswith("Error")
            assert opened.step(f"goto('{elsewhere.url}/')").observation.title == "Error 503"
            assert elsewhere.statuses("/") == [503]
            # An element that does not react in time was the agent's choice.
            assert opened.step("click('999')").error is not None
            assert opened.describe().site_retries is None


def test_a_log_in_that_finds_no_form_is_told_apart(site: MoodySite) -> None:
    with environment(site, log_in=True) as opened:
        with pytest.raises(EnvironmentFailure) as caught:
            opened.reset(1)
        assert caught.value.fault is Fault.LOGIN_FAILED


def test_a_log_in_page_that_is_out_of_order_is_the_sites_error(site: MoodySite) -> None:
    site.always["/login"] = 502
    with environment(site, log_in=True, patience=NEVER) as opened:
        with pytest.raises(EnvironmentFailure) as caught:
            opened.reset(1)
        assert caught.value.fault is Fault.HTTP_5XX


def test_a_first_page_that_does_not_come_is_a_navigation_timeout(
    site: MoodySite, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The browser still waits for the page, and is killed.
    monkeypatch.setattr(browsergym_environment, "CLOSE_TIMEOUT_S", 0.5)
    goes_on = threading.Event()
    site.before_answer = lambda path: goes_on.wait(60)
    with environment(site, patience=NEVER) as opened:
        with pytest.raises(EnvironmentFailure) as caught:
            opened.reset(1)
        goes_on.set()
        assert caught.value.fault is Fault.NAVIGATION_TIMEOUT


def test_a_site_that_cannot_be_reached_is_waited_for_a_little(site: MoodySite) -> None:
    with environment(site) as opened:
        opened.reset(1)
        with MoodySite() as other:
            port = other.port
        url = f"http://127.0.0.1:{port}/"
        assert fault_of_step(opened, f"goto('{url}')") is Fault.SITE_NOT_READY
        assert opened.describe().site_retries == QUICK.tries
        with ExitStack() as comes_back:
            back = threading.Timer(0.1, lambda: comes_back.enter_context(MoodySite(port)))
            back.start()
            assert opened.step(f"goto('{url}')").observation.title == "Shop"
