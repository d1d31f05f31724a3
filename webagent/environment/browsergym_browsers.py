"""Make BrowserGym start the browser we found, once, in whatever thread, and say what is in it.

BrowserGym keeps one Playwright for the whole process and starts two browsers with it: one for
the task and one for a chat window, where the executable cannot be set. Here each thread gives
it a Playwright of its own through BrowserGym's own setter; every browser that it starts goes
through one launcher, and the chat has no window, so that there is no second browser at all.

What it observes becomes an observation of ours, with the screenshot as the browser encoded it.
BrowserGym decodes every picture to an array of pixels, of which a PNG would have to be made
anew: on most pages more work than all else that keeping a step takes.
"""

from __future__ import annotations

import base64
import logging
import struct
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import browsergym.core
import browsergym.core.env
import playwright.sync_api
from browsergym.utils.obs import IGNORED_AXTREE_ROLES, flatten_axtree_to_str

from webagent.environment.browser import BrowserSettings, Hosts, chromium_arguments, find_chromium
from webagent.trajectory.live import Observation
from webagent.trajectory.records import Box, ChatMessage, TabRecord

logger = logging.getLogger(__name__)

_SIZE_AT = 16
"""Where a PNG says its width and height: after its signature and the head of its first part."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG and its size in pixels."""

    content: bytes
    width: int
    height: int


def take_picture(page: playwright.sync_api.Page) -> Picture:
    """What BrowserGym's own `extract_screenshot` shows of the page, zoom included.

    That one sets the size of the page anew, twice for each picture, and leaves it with another
    one than the task's: pages get events that they get nowhere else, and clicks miss.
    """
    session = page.context.new_cdp_session(page)
    options: dict[str, Any] = {"format": "png"}
    if (zoom := getattr(page, "_bgym_scale_factor", 1.0)) != 1.0:
        seen = session.send("Page.getLayoutMetrics")["cssVisualViewport"]
        # The viewport's own size leaves out scroll bars.
        size = page.viewport_size or page.evaluate("({width: innerWidth, height: innerHeight})")
        options["clip"] = {"x": seen["pageX"], "y": seen["pageY"], **size, "scale": zoom}
    content = base64.b64decode(session.send("Page.captureScreenshot", options)["data"])
    session.detach()
    return Picture(content, *struct.unpack_from(">II", content, _SIZE_AT))


# Lines of text boxes, which newer Chromium reports below every text.
IGNORED_ROLES = [*IGNORED_AXTREE_ROLES, "InlineTextBox"]


def live_observation(obs: Mapping[str, Any]) -> Observation:
    """The same moment in our words; the boxes are in pixels of the screenshot, zoom included."""
    picture: Picture = obs["screenshot"]
    active = int(obs["active_page_index"][0])
    titles = obs["open_pages_titles"]
    tabs = tuple(
        TabRecord(url=url, title=title, active=index == active)
        for index, (url, title) in enumerate(zip(obs["open_pages_urls"], titles, strict=True))
    )
    return Observation(
        at=datetime.now(UTC),
        goal="\n".join(part["text"] for part in obs["goal_object"] if part["type"] == "text"),
        goal_images=tuple(
            _image_url(part) for part in obs["goal_object"] if part["type"] == "image_url"
        ),
        url=obs["url"],
        title=titles[active],
        tabs=tabs,
        screenshot=picture.content,
        width=picture.width,
        height=picture.height,
        axtree=flatten_axtree_to_str(
            _with_clickable_parts(obs["axtree_object"], obs["extra_element_properties"]),
            ignored_roles=IGNORED_ROLES,
        ),
        boxes=_boxes(obs["extra_element_properties"]),
        multiline=_multiline(obs["axtree_object"]),
        focused=obs["focused_element_bid"] or None,
        messages=tuple(
            ChatMessage(
                role=message["role"],
                text=message["message"],
                at=datetime.fromtimestamp(message["timestamp"], UTC),
            )
            for message in obs["chat_messages"]
        ),
        last_action=obs["last_action"] or None,
        last_error=obs["last_action_error"] or None,
    )


def _with_clickable_parts(
    axtree: Mapping[str, Any], properties: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The tree with every part of no role that reacts to clicks marked so.

    Without the mark they are left out of the text as mere layout, and with them the only
    handle on links and buttons made of a plain `span` or `div`.
    """
    nodes = []
    for node in axtree["nodes"]:
        found = properties.get(node.get("browsergym_id", ""))
        if found and found["clickable"] and node["role"]["value"] == "generic":
            mark = {"name": "clickable", "value": {"type": "boolean", "value": True}}
            node = {**node, "properties": [*node.get("properties", ()), mark]}
        nodes.append(node)
    return {**axtree, "nodes": nodes}


def _boxes(properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Box]:
    return {
        bid: Box(x=box[0], y=box[1], width=box[2], height=box[3])
        for bid, found in properties.items()
        if (box := found["bbox"]) is not None
    }


def _multiline(axtree: Mapping[str, Any]) -> frozenset[str]:
    """Fields of several lines; the text of the tree leaves out that they are."""
    return frozenset(
        str(node["browsergym_id"])
        for node in axtree["nodes"]
        if "browsergym_id" in node
        for each in node.get("properties", ())
        if each["name"] == "multiline" and each["value"].get("value")
    )


def _image_url(part: Mapping[str, Any]) -> str:
    image = part["image_url"]
    return str(image["url"] if isinstance(image, Mapping) else image)


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

    def __init__(self, **_window: Any) -> None:
        self.messages: list[dict[str, Any]] = []
        self.recording_start_time: float | None = None

    def add_message(
        self, role: Literal["user", "user_image", "assistant", "info", "infeasible"], msg: str
    ) -> None:
        if role != "info":  # as in the window, where these are shown and not kept
            self.messages.append({"role": role, "timestamp": time.time(), "message": msg})

    def close(self) -> None:
        """There is nothing to close."""


_pixels = browsergym.core.env.extract_screenshot


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
    settings: BrowserSettings, hosts: Hosts, *, plain: bool = False
) -> ChromiumLauncher:
    """Set Playwright up for BrowserGym's use in this thread; end it with `stop_playwright`.

    Args:
        plain: leave screenshots arrays of pixels, as they are without us.
    """
    browsergym.core._set_global_playwright(ThreadPlaywright())
    browsergym.core.env.Chat = MessageLog
    browsergym.core.env.extract_screenshot = _screenshot
    started = _here.playwright or start_driver()
    _here.launcher = ChromiumLauncher(started, settings, hosts)
    _here.plain = plain
    return _here.launcher


def stop_playwright() -> None:
    """End this thread's Playwright, and with it every browser it started."""
    started, _here.playwright, _here.launcher = _here.playwright, None, None
    if started is not None:
        started.stop()
