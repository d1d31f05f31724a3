"""The environment in a real browser."""

import asyncio
import io
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import sync_playwright

from tests.webagent.made_up import PageTask
from tests.webagent.processes import browsers, descendants, left_of
from webagent.environment.browser import BrowserSettings, Hosts
from webagent.environment.browsergym_browsers import ChromiumLauncher
from webagent.environment.browsergym_environment import BrowserGymEnvironment
from webagent.environment.browsergym_task import RetryWaits
from webagent.environment.interface import Environment, EnvironmentFailure
from webagent.environment.registry import make_environment
from webagent.trajectory.faults import Fault

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("settled_at_once")]

HOST = "site.localhost"
ONE = f"http://{HOST}/one.html"
PAGE = """<!doctype html><title>Shop</title><h1>Shop</h1>
<a href="two.html">two</a> <a href="http://elsewhere.test/">away</a>
<button onclick="document.title = 'Clicked'">change</button>
<button onclick="while (true) {}">hang</button>
<p hidden>not seen</p><p>R&amp;D <b>12</b></p>"""


class SiteTask(PageTask):
    """A task on a page of our own; the title `Clicked` is success."""

    def __init__(self, seed: int, page: str = "one.html") -> None:
        self.page = page

    def setup(self, page: Any) -> tuple[str, dict[str, Any]]:
        page.goto(f"http://{HOST}/{self.page}")
        return "Change the title.", {}

    def validate(self, page: Any, messages: Any) -> tuple[float, bool, str, dict[str, Any]]:
        done = page.title() == "Clicked"
        return float(done), done, "", {"milestones": {"clicked": done}}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "one.html").write_text(PAGE)
    (tmp_path / "two.html").write_text("<title>Two</title><p id=t>second")
    return tmp_path


@pytest.fixture
def opened(site: Path) -> Iterator[BrowserGymEnvironment]:
    with BrowserGymEnvironment(
        SiteTask, sites={HOST: site}, step_timeout_s=20, patience=RetryWaits(first_wait_s=0.05)
    ) as environment:
        environment.reset(1)
        yield environment


def bid_of(environment: Environment, name: str) -> str:
    nodes = environment.step("noop(1)").observation.nodes
    return next(node.bid for node in nodes if node.name == name and node.bid)


def test_browsergym_drives_the_current_playwright_through_a_whole_task():
    """Its metadata asks for another Playwright: this says when the two no longer work together."""
    assert version("browsergym-core") == "0.14.3"
    assert tuple(map(int, version("playwright").split(".")[:2])) >= (1, 65)
    environment = make_environment("miniwob.click-test")
    try:
        seen = environment.reset(3)
        processes = descendants()
        assert len(browsers(processes)) == 1, "a second browser is there for the chat"
        assert seen.goal == "Click the button."
        assert seen.url == "http://miniwob.localhost/miniwob/click-test.html"
        (button,) = [node for node in seen.nodes if node.role == "button"]
        box = seen.boxes[button.bid or ""]
        picture = Image.open(io.BytesIO(seen.screenshot)).convert("RGB")
        assert picture.size == (seen.width, seen.height) == (498, 321)
        # The page is zoomed: the box fits the picture, not the page.
        inside = picture.getpixel((int(box.x + 4), int(box.y + box.height / 2)))
        outside = picture.getpixel((int(box.x - 4), int(box.y + box.height / 2)))
        assert outside == (255, 255, 255) != inside
        bad = environment.step("click('999')")
        assert bad.error is not None
        assert "999" in bad.error
        assert bad.observation.last_error == bad.error
        assert not bad.terminated
        done = environment.step(f"click({button.bid!r})")
        assert (done.reward, done.raw_reward, done.terminated) == (1.0, 1.0, True)
        assert done.error is None
        assert {"action", "loading", "validation", "observation"} <= set(done.seconds)
        described = environment.describe()
        assert described.viewport_width == 332
        assert f"playwright=={version('playwright')}" in described.packages
        assert "chromium" in (described.browser or "")
    finally:
        environment.close()
    assert left_of(processes) == []


RULER = """<!doctype html><title>still</title>
<body onresize="document.title = 'resized'" style="margin: 0; height: 3000px">
<div style="position: fixed; bottom: 0; width: 400px; height: 10px; background: red"></div>"""


@pytest.mark.parametrize("zoom", [1.0, 1.5])
def test_a_picture_leaves_the_page_as_it_was(site, zoom):
    """Its own size stays: BrowserGym leaves it lower, and clicks miss what the picture shows."""
    (site / "ruler.html").write_text(RULER)

    class Zoomed(SiteTask):
        def setup(self, page: Any) -> tuple[str, dict[str, Any]]:
            page._bgym_scale_factor = zoom
            return super().setup(page)

    with BrowserGymEnvironment(
        Zoomed, task_arguments={"page": "ruler.html"}, sites={HOST: site}, delay_s=0.1
    ) as environment:
        environment.reset(1)
        seen = environment.step("scroll(0, 700)").observation
    picture = Image.open(io.BytesIO(seen.screenshot)).convert("RGB")
    assert picture.size == (seen.width, seen.height) == (400 * zoom, 300 * zoom)
    middle, last = seen.width // 2, seen.height - 1
    assert picture.getpixel((middle, last)) == (255, 0, 0)
    assert picture.getpixel((middle, last - int(12 * zoom))) == (255, 255, 255)
    assert seen.title == "still"


def test_it_works_in_threads_and_under_an_event_loop(site):
    def title() -> str:
        with BrowserGymEnvironment(SiteTask, sites={HOST: site}, delay_s=0.0) as environment:
            return environment.reset(1).title

    async def under_a_loop() -> str:
        return title()

    before = descendants()
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: title(), range(2))) == ["Shop", "Shop"]
    assert asyncio.run(under_a_loop()) == "Shop"
    assert set(browsers(descendants())) == set(browsers(before))


def test_a_window_loads_no_page_but_the_one_that_is_opened():
    with sync_playwright() as playwright:
        browser = ChromiumLauncher(playwright, BrowserSettings(), Hosts()).launch(headless=True)
        browser.new_page()
        found = browser.new_browser_cdp_session().send("Target.getTargets", {"filter": [{}]})
        browser.close()
    assert {target["type"] for target in found["targetInfos"]} == {"page", "tab"}


def test_nothing_but_the_tasks_own_hosts_can_be_reached(opened):
    for url in ("file:///etc/passwd", "http://127.0.0.1:80/", "chrome://version"):
        refused = opened.step(f"goto({url!r})")
        assert refused.error is not None
        assert "own hosts: site.localhost" in refused.error
        assert [outcome.executed for outcome in refused.outcomes] == [False]
        assert refused.observation.url == ONE
    away = opened.step(f"click({bid_of(opened, 'away')!r})")
    (event,) = [event for event in away.events if event.get("reason") != "net::ERR_ABORTED"]
    assert (event["type"], event["url"]) == ("blocked", "http://elsewhere.test/")
    assert event["reason"] == "net::ERR_NAME_NOT_RESOLVED"


def test_a_call_after_a_failed_one_is_not_tried_and_uploads_are_unknown(opened):
    change = bid_of(opened, "change")
    result = opened.step(f"scroll(0, 1)\nclick('999')\nclick({change!r})")
    assert [outcome.executed for outcome in result.outcomes] == [True, True, False]
    assert [bool(outcome.error) for outcome in result.outcomes] == [False, True, False]
    assert result.observation.title == "Shop"
    for action in (f"click({change!r}) upload_file('1', '/etc/passwd')", "no call at all"):
        result = opened.step(action)
        assert not any(outcome.executed for outcome in result.outcomes)
        assert result.error is not None
        assert result.observation.title == "Shop"
    done = opened.step(f"click({change!r})")
    assert done.terminated
    assert done.milestones == opened.milestones() == {"clicked": True}


def test_messages_and_giving_up(opened):
    said = opened.step("send_msg_to_user('the answer')")
    assert not said.terminated
    assert said.observation.messages[-1].text == "the answer"
    gave_up = opened.step("report_infeasible('no such thing')")
    assert gave_up.terminated
    assert gave_up.gave_up
    assert gave_up.observation.messages[-1].role == "infeasible"


def test_the_evidence_holds_every_target_of_the_specification(opened):
    opened.step(f"click({bid_of(opened, 'two')!r})")
    evidence = opened.evidence(
        {
            "program_html": [
                {"url": "last", "locator": "document.querySelector('#t').outerText"},
                {"url": ONE, "locator": "document.querySelector('b').innerText"},
                {"url": "last", "locator": "document.querySelector('#none').outerText"},
                {"url": "last", "locator": "document.querySelector('#none')"},
                {"url": "last", "locator": ""},
                {"url": "last", "locator": "func:shopping_get_rating(__page__)"},
                {"url": "http://elsewhere.test/", "locator": ""},
            ]
        }
    )
    assert (evidence["final_url"], evidence["title"]) == (f"http://{HOST}/two.html", "Two")
    assert evidence["text"] == "second"
    pages: Any = evidence["pages"]
    assert [page and page["text"] for page in pages[:4]] == ["second", "12", "", "None"]
    assert pages[1]["url"] == ONE
    assert "<title>Two</title>" in pages[4]["text"]
    assert pages[5:] == [None, None]
    missing: Any = evidence["missing"]
    assert set(missing) == {"5", "6"}
    assert opened.evidence(None)["final_url"] == f"http://{HOST}/two.html"


def test_a_page_that_is_not_there_at_the_start_is_the_sites_failure(site):
    with (
        BrowserGymEnvironment(
            SiteTask, sites={HOST: site}, task_arguments={"page": "none.html"}
        ) as environment,
        pytest.raises(EnvironmentFailure, match="HTTP 404") as caught,
    ):
        environment.reset(1)
    assert caught.value.fault is Fault.SITE_NOT_READY
    assert caught.value.retriable


def test_a_site_that_goes_away_is_the_sites_failure(opened):
    two = bid_of(opened, "two")
    opened._sites[0].close()
    with pytest.raises(EnvironmentFailure, match="two.html") as caught:
        opened.step(f"click({two!r})")
    assert caught.value.fault is Fault.SITE_NOT_READY
    opened._sites.clear()


@pytest.mark.fault(7, "kill -9 of Chromium between two steps")
def test_a_browser_that_dies_is_the_environments_failure_and_leaves_nothing(opened):
    processes = descendants()
    (browser,) = browsers(processes)
    os.kill(browser, signal.SIGKILL)
    with pytest.raises(EnvironmentFailure) as caught:
        opened.step("click('1')")
    assert caught.value.fault is Fault.BROWSER_CRASH
    opened.close()
    assert left_of(processes) == []


@pytest.mark.fault(7, "a page that computes for ever: while (true) {}")
def test_a_page_that_hangs_is_given_up_and_leaves_nothing(opened):
    hang = bid_of(opened, "hang")
    processes = descendants()
    opened.step_timeout_s = 2.0
    with pytest.raises(EnvironmentFailure, match="within 2 seconds") as caught:
        opened.step(f"click({hang!r})")
    assert caught.value.fault is Fault.BROWSER_HUNG
    opened.close()
    assert left_of(processes) == []


def test_a_closed_environment_says_so_and_may_be_closed_again(site):
    environment = BrowserGymEnvironment(SiteTask, sites={HOST: site})
    environment.close()
    with pytest.raises(EnvironmentFailure, match="closed"):
        environment.step("noop()")
    environment.close()
