"""Make BrowserGym start the browser we found, once, in whatever thread it is used.

BrowserGym keeps one Playwright for the whole process and starts two browsers with it: one for
the task and one for a chat window, where the executable cannot be set. Here each thread gives
it a Playwright of its own through BrowserGym's own setter; every browser that it starts goes
through one launcher, and where nobody watches the chat there is no second browser at all.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, Literal

import browsergym.core
import browsergym.core.chat
import browsergym.core.env
import playwright.sync_api

from webagent.environment.browser import (
    BrowserSettings,
    Hosts,
    chromium_arguments,
    find_chromium,
)
from webagent.environment.browsergym_observation import take_picture

logger = logging.getLogger(__name__)

NO_SANDBOX_MESSAGES = ("No usable sandbox", "The SUID sandbox helper binary was found, but")


class ChromiumLauncher:
    """Starts Chromium for BrowserGym: found, walled in, quiet."""

    def __init__(
        self, playwright_: playwright.sync_api.Playwright, settings: BrowserSettings, hosts: Hosts
    ) -> None:
        self._chromium = playwright_.chromium
        self._settings = settings
        self._hosts = hosts
        self.pids: list[int] = []
        """Process ids of the browsers started, for ending one that hangs."""

    def launch(self, **options: Any) -> playwright.sync_api.Browser:
        """A running browser. The options are Playwright's; BrowserGym's own ones are kept."""
        browser = self._launch(options)
        self.pids += _browser_pids(browser)
        return browser

    def _launch(self, options: dict[str, Any]) -> playwright.sync_api.Browser:
        options["args"] = chromium_arguments(self._hosts, options.get("args") or ())
        options["executable_path"] = find_chromium(
            self._settings.executable, self._chromium.executable_path
        )
        if not self._settings.wants_sandbox():
            return self._chromium.launch(**options, chromium_sandbox=False)
        try:
            return self._chromium.launch(**options, chromium_sandbox=True)
        except playwright.sync_api.Error as error:
            denied = any(message in str(error) for message in NO_SANDBOX_MESSAGES)
            if self._settings.sandbox or not denied:
                raise
            logger.warning("This system gives Chromium no sandbox; it runs without one.")
            return self._chromium.launch(**options, chromium_sandbox=False)


def _browser_pids(browser: playwright.sync_api.Browser) -> list[int]:
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return [int(process["id"]) for process in processes if process["type"] == "browser"]


class _Here(threading.local):
    """What the calling thread has set up."""

    playwright: playwright.sync_api.Playwright | None = None
    launcher: ChromiumLauncher | None = None
    chat_window = False
    plain = False


_here = _Here()


class ThreadPlaywright:
    """What BrowserGym takes for the process's Playwright: that of the calling thread."""

    @property
    def selectors(self) -> playwright.sync_api.Selectors:
        if _here.playwright is None:
            raise RuntimeError("no Playwright was started in this thread")
        return _here.playwright.selectors

    @property
    def chromium(self) -> ChromiumLauncher:
        if _here.launcher is None:
            raise RuntimeError("no Playwright was started in this thread")
        return _here.launcher


class MessageLog:
    """BrowserGym's chat without its window: it keeps the messages, which is all a task reads."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.recording_start_time: float | None = None

    def add_message(
        self, role: Literal["user", "user_image", "assistant", "info", "infeasible"], msg: str
    ) -> None:
        if role != "info":  # as in the window, where these are shown and not kept
            self.messages.append({"role": role, "timestamp": time.time(), "message": msg})

    def close(self) -> None:
        """There is nothing to close."""


_ChatWindow = browsergym.core.chat.Chat
_pixels = browsergym.core.env.extract_screenshot


def _chat(**options: Any) -> Any:
    return _ChatWindow(**options) if _here.chat_window else MessageLog()


def _screenshot(page: playwright.sync_api.Page) -> Any:
    return _pixels(page) if _here.plain else take_picture(page)


def start_driver() -> playwright.sync_api.Playwright:
    """Start this thread's Playwright, which `start_playwright` then sets up."""
    _here.playwright = playwright.sync_api.sync_playwright().start()
    return _here.playwright


def driver_answers() -> bool:
    """Whether this thread's Playwright was started and is well; if not, there is none any more."""
    if _here.playwright is None:
        return False
    try:
        _here.playwright.request.new_context().dispose()
    except playwright.sync_api.Error:
        stop_playwright()
        return False
    return True


def start_playwright(
    settings: BrowserSettings, hosts: Hosts, *, chat_window: bool = False, plain: bool = False
) -> ChromiumLauncher:
    """Set Playwright up for BrowserGym's use in this thread; end it with `stop_playwright`.

    Args:
        plain: leave screenshots arrays of pixels, as they are without us.
    """
    browsergym.core._set_global_playwright(ThreadPlaywright())
    browsergym.core.env.Chat = _chat
    browsergym.core.env.extract_screenshot = _screenshot
    started = _here.playwright or start_driver()
    _here.launcher = ChromiumLauncher(started, settings, hosts)
    _here.chat_window, _here.plain = chat_window, plain
    return _here.launcher


def stop_playwright() -> None:
    """End this thread's Playwright, and with it every browser it started."""
    started, _here.playwright, _here.launcher = _here.playwright, None, None
    if started is not None:
        started.stop()
