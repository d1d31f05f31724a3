from typing import Any

import playwright.sync_api
import pytest

from webagent.environment import browsergym_browsers
from webagent.environment.browser import BrowserSettings, Hosts
from webagent.environment.browsergym_browsers import ChromiumLauncher, MessageLog, ThreadPlaywright


class Session:
    def send(self, method: str) -> Any:
        assert method == "SystemInfo.getProcessInfo"
        return {"processInfo": [{"type": "browser", "id": 7}, {"type": "gpu", "id": 8}]}

    def detach(self) -> None:
        pass


class Browser:
    def new_browser_cdp_session(self) -> Session:
        return Session()


class Chromium:
    """Stands for Playwright's, on a system that may give no sandbox."""

    executable_path = "/nowhere/chrome"

    def __init__(self, refuses_sandbox_with: str | None = None) -> None:
        self.refuses_sandbox_with = refuses_sandbox_with
        self.launches: list[dict[str, Any]] = []

    def launch(self, **options: Any) -> Browser:
        self.launches.append(options)
        if options["chromium_sandbox"] and self.refuses_sandbox_with:
            raise playwright.sync_api.Error(self.refuses_sandbox_with)
        return Browser()


class Playwright:
    def __init__(self, chromium: Chromium) -> None:
        self.chromium = chromium


@pytest.fixture(autouse=True)
def found(monkeypatch):
    monkeypatch.setattr(browsergym_browsers, "find_chromium", lambda *_: "/found/chromium")


def launch(chromium: Chromium, sandbox: bool | None) -> ChromiumLauncher:
    settings = BrowserSettings(sandbox=sandbox)
    launcher = ChromiumLauncher(Playwright(chromium), settings, Hosts())  # type: ignore[arg-type]
    launcher.launch(headless=True, args=["--window-size=5,8"], slow_mo=0)
    return launcher


def test_the_found_browser_is_started_with_browsergyms_options_kept():
    chromium = Chromium()
    launcher = launch(chromium, sandbox=False)
    (options,) = chromium.launches
    assert options["executable_path"] == "/found/chromium"
    assert options["headless"] is True
    assert options["slow_mo"] == 0
    assert "--window-size=5,8" in options["args"]
    assert "--host-resolver-rules=MAP * ~NOTFOUND" in options["args"]
    assert launcher.pids == [7]


def test_without_a_sandbox_on_the_system_it_starts_without_one_and_says_so(monkeypatch, caplog):
    monkeypatch.setattr(BrowserSettings, "wants_sandbox", lambda _: True)
    chromium = Chromium("FATAL: No usable sandbox! Update your kernel")
    launch(chromium, sandbox=None)
    assert [options["chromium_sandbox"] for options in chromium.launches] == [True, False]
    assert "no sandbox" in caplog.text


def test_a_sandbox_that_is_demanded_is_not_given_up():
    chromium = Chromium("FATAL: No usable sandbox! Update your kernel")
    with pytest.raises(playwright.sync_api.Error, match="No usable sandbox"):
        launch(chromium, sandbox=True)
    assert len(chromium.launches) == 1


def test_another_failure_to_start_is_not_taken_for_the_sandboxs(monkeypatch):
    monkeypatch.setattr(BrowserSettings, "wants_sandbox", lambda _: True)
    chromium = Chromium("out of memory")
    with pytest.raises(playwright.sync_api.Error, match="out of memory"):
        launch(chromium, sandbox=None)


def test_a_thread_without_playwright_is_told_so():
    with pytest.raises(RuntimeError, match="no Playwright"):
        _ = ThreadPlaywright().chromium
    with pytest.raises(RuntimeError, match="no Playwright"):
        _ = ThreadPlaywright().selectors


def test_the_chat_without_a_window_keeps_what_the_window_would():
    log = MessageLog()
    log.add_message("assistant", "hello")
    log.add_message("info", "shown only")
    log.add_message("infeasible", "cannot")
    log.close()
    assert [(item["role"], item["message"]) for item in log.messages] == [
        ("assistant", "hello"),
        ("infeasible", "cannot"),
    ]
