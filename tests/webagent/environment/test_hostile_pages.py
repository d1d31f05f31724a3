"""Pages and browsers that would keep an agent waiting for ever."""

import os
import signal
from pathlib import Path

import pytest

from tests.webagent.environment.test_browsergym_environment import HOST, SiteTask, bid_of
from tests.webagent.processes import browsers, descendants, left_of
from webagent.environment.browsergym_environment import BrowserGymEnvironment
from webagent.environment.interface import EnvironmentFailure
from webagent.trajectory.faults import Fault

pytestmark = pytest.mark.browser

ASKS = """<!doctype html><title>Shop</title><script>
onbeforeunload = event => { event.preventDefault(); return "stay" };
function ask() { alert("one"); confirm("two"); prompt("three"); document.title = "Asked" }
</script><button onclick="ask()">ask</button><a href="large.html">large</a>"""
LARGE = "<title>Large</title><script>document.write('<p>' + 'much '.repeat(4e4))</script>"


@pytest.mark.fault(7, "dialogs, a page that will not be left, 200 kB of text, SIGSTOP of Chromium")
def test_dialogs_and_large_pages_are_passed_and_a_frozen_browser_is_given_up(
    tmp_path: Path,
) -> None:
    (tmp_path / "one.html").write_text(ASKS)
    (tmp_path / "large.html").write_text(LARGE)
    with BrowserGymEnvironment(
        SiteTask, sites={HOST: tmp_path}, delay_s=0.1, step_timeout_s=30
    ) as opened:
        opened.reset(1)
        assert opened.step(f"click({bid_of(opened, 'ask')!r})").observation.title == "Asked"
        seen = opened.step(f"goto('http://{HOST}/large.html')").observation
        assert seen.title == "Large"
        processes = descendants()
        (browser,) = browsers(processes)
        os.kill(browser, signal.SIGSTOP)
        opened.step_timeout_s = 2.0
        with pytest.raises(EnvironmentFailure) as caught:
            opened.step("noop(1)")
        assert caught.value.fault is Fault.BROWSER_HUNG
    assert left_of(processes) == []
