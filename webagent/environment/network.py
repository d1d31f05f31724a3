"""Watch what the browser loads, to tell the site's failures from the agent's.

What counts as the infrastructure's: a page (not a picture or a script) of one of the task's *own*
hosts that answers 5xx or 429, or that cannot be reached. The agent may have provoked it (a form
that the server cannot digest), and cannot be told from a server that is out of order: the
benchmarks' sites answer valid requests so under load, and an agent must not pay for that.

What stays the agent's: 404, 403 and every other 4xx, since it chose the address; any page of a
host that the task does not call its own; and an element that does not react in time.

While the environment starts, no agent has chosen anything, so that every 4xx is the site's too.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Error, Page, Request, Response
from pydantic import JsonValue

from webagent.environment.browser import Hosts
from webagent.environment.interface import EnvironmentFailure
from webagent.trajectory.faults import Fault
from webagent.trajectory.records import Json

MAX_EVENTS = 50
TOO_MANY_REQUESTS = 429
BROWSER_PAGES = ("about:blank", "chrome-error://chromewebdata/")

# Cancelled by the page or the user, not by the network.
_ABORTED = "net::ERR_ABORTED"


@dataclass(frozen=True, slots=True)
class BrokenPage:
    """A page of the task's own site that did not come as it should.

    `may_pass`: loading it again may help and repeats nothing. Only GET is safe: what a form
    sent may have been done although the answer is an error.
    """

    page: Page | None
    url: str
    failure: EnvironmentFailure
    may_pass: bool


class NetworkWatch:
    """Collects, between two calls of `take`, what was refused and which pages failed."""

    def __init__(self, context: BrowserContext, hosts: Hosts) -> None:
        self._hosts = hosts
        self._events: list[Json] = []
        self._starting = True
        self._crash: EnvironmentFailure | None = None
        self._broken: dict[Page | None, BrokenPage] = {}
        context.on("requestfailed", self._on_failed)
        context.on("response", self._on_response)
        context.on("page", self.observe)

    @property
    def failure(self) -> EnvironmentFailure | None:
        """Why the run cannot go on: the browser crashed, or a page is broken and shown now."""
        if self._crash is not None:
            return self._crash
        return next((broken.failure for broken in self.broken()), None)

    def broken(self) -> list[BrokenPage]:
        """Pages of the task's own sites that are open and broken."""
        self._broken = {
            page: broken
            for page, broken in self._broken.items()
            if page is None or not page.is_closed()
        }
        return list(self._broken.values())

    def started(self) -> None:
        """From now on a page that is missing or forbidden is what the agent asked for."""
        self._starting = False

    def take(self) -> tuple[Json, ...]:
        """The events since the last call."""
        events, self._events = tuple(self._events), []
        return events

    def observe(self, page: Page) -> None:
        """Watch a page that was open before; new ones are watched by themselves."""
        page.on("crash", self._on_crash)

    def note(self, event: Json) -> None:
        """Keep an event, once, and not too many."""
        # The browser tries again by itself, which is no news.
        if event not in self._events and len(self._events) < MAX_EVENTS:
            self._events.append(event)

    def _on_crash(self, page: Page) -> None:
        if self._crash is None:
            words = f"the page crashed: {page.url}"
            self._crash = EnvironmentFailure(words, Fault.BROWSER_CRASH)

    def _on_failed(self, request: Request) -> None:
        reason = request.failure or "failed"
        if urlsplit(request.url).hostname not in self._hosts:
            self.note({"type": "blocked", "url": request.url[:2000], "reason": reason})
        elif reason != _ABORTED and _is_page(request) and self._hosts.owns(request.url):
            failure = EnvironmentFailure(f"{request.url}: {reason}", Fault.SITE_NOT_READY)
            self._broke(request, failure, may_pass=True)

    def _on_response(self, response: Response) -> None:
        fault = _fault_of(response.status, starting=self._starting)
        is_page = _is_page(response.request)
        if fault is None:
            if is_page:
                self._broken.pop(_page_of(response.request), None)
            return
        self.note({"type": "http_error", "url": response.url[:2000], "status": response.status})
        if is_page and self._hosts.owns(response.url):
            failure = EnvironmentFailure(
                f"{response.url}: HTTP {response.status}",
                fault,
                retry_after_s=retry_after_s(response.headers),
            )
            self._broke(response.request, failure, may_pass=fault is not Fault.SITE_NOT_READY)

    def _broke(self, request: Request, failure: EnvironmentFailure, *, may_pass: bool) -> None:
        page = _page_of(request)
        may_pass = may_pass and page is not None and request.method == "GET"
        self._broken[page] = BrokenPage(page, request.url, failure, may_pass)


def check_destination(url: str, hosts: Hosts) -> None:
    """Refuse an address that the agent may not open: other hosts, files, scripts.

    Raises:
        ValueError: it is refused; the message is for the agent.
    """
    parts = urlsplit(url)
    if url in BROWSER_PAGES:
        return
    if parts.scheme not in {"http", "https"} or parts.hostname not in hosts:
        raise ValueError(f"{url!r} is outside the task's own hosts: {hosts}")


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that a site asks to wait; None where it does not say, or names a date."""
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _fault_of(status: int, *, starting: bool) -> Fault | None:
    if status == TOO_MANY_REQUESTS:
        return Fault.HTTP_429
    if status >= 500:
        return Fault.HTTP_5XX
    return Fault.SITE_NOT_READY if starting and status >= 400 else None


def _is_page(request: Request) -> bool:
    if not request.is_navigation_request():
        return False
    try:
        return request.frame.parent_frame is None
    except Error:  # a new tab asks before its frame is there
        return True


def _page_of(request: Request) -> Page | None:
    try:
        return request.frame.page
    except Error:  # as above
        return None


MAX_TEXT_CHARS = 20_000
MAX_TARGET_CHARS = 500_000
MAX_TARGETS = 20
SETTLE_MS = 3000

# What BrowserGym writes into the page so as to find its elements again.
_OURS = re.compile(r' (?:bid|browsergym_\w+)="[^"]*"')
_JAVASCRIPT_LOCATORS = ("document.", "[...document.")


def capture_evidence(page: Page, evaluation: Json | None, hosts: Hosts) -> Json:
    """Where the run ended and what it showed there.

    `pages` has one entry per `program_html` target of the specification, in its order: the
    target's `url` and the `text` that its locator gave (Python's `str` of it: "None" for
    JavaScript's null, "" where the script failed), or null with a reason in `missing`.
    """
    text = _evaluated(page, "() => document.body ? document.body.innerText : ''")
    evidence: dict[str, JsonValue] = {
        "final_url": page.url,
        "title": _title(page),
        "text": text[:MAX_TEXT_CHARS],
        "text_truncated": len(text) > MAX_TEXT_CHARS,
    }
    targets = (evaluation or {}).get("program_html")
    if isinstance(targets, list):
        pages: list[JsonValue] = []
        missing: dict[str, JsonValue] = {}
        for position, target in enumerate(targets[:MAX_TARGETS]):
            try:
                if not isinstance(target, Mapping):
                    raise ValueError("the target is no table")
                pages.append(_target_evidence(page, target, hosts))
            except (Error, ValueError) as error:
                pages.append(None)
                missing[str(position)] = str(error).split("\n")[0]
        evidence["pages"] = pages
        if missing:
            evidence["missing"] = missing
    return evidence


def _target_evidence(page: Page, target: Mapping[str, object], hosts: Hosts) -> JsonValue:
    url, locator = str(target.get("url", "")), str(target.get("locator") or "").strip()
    if url == "last":
        return _located(page, target, locator)
    if url.startswith("func:"):
        raise ValueError("the address is computed by a function of the benchmark")
    check_destination(url, hosts)
    visited = page.context.new_page()
    try:
        visited.goto(url)
        # Scripts of the page fill it in after loading; the benchmark waits as long.
        visited.wait_for_timeout(SETTLE_MS)
        return _located(visited, target, locator)
    finally:
        visited.close()


def _located(page: Page, target: Mapping[str, object], locator: str) -> JsonValue:
    if not locator:
        return _entry(page, _OURS.sub("", page.content()))
    if not locator.startswith(_JAVASCRIPT_LOCATORS):
        raise ValueError("the locator is computed by a function of the benchmark")
    preparations = target.get("prep_actions")
    for preparation in preparations if isinstance(preparations, list) else []:
        _evaluated(page, f"() => {preparation}")
    found = _evaluated(page, f"() => {locator}")
    return _entry(page, found)


def _evaluated(page: Page, script: str) -> str:
    """The value as `str` writes it; the empty string where the script failed."""
    try:
        return str(page.evaluate(script))
    except Error:
        return ""


def _entry(page: Page, text: str) -> JsonValue:
    entry: dict[str, JsonValue] = {"url": page.url, "text": text[:MAX_TARGET_CHARS]}
    if len(text) > MAX_TARGET_CHARS:
        entry["text_truncated"] = True
    return entry


def _title(page: Page) -> str:
    try:
        return page.title()
    except Error:
        return ""
