"""Watch what the browser loads, to tell the site's failures from the agent's."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Error, Page, Request, Response

from webagent.environment.browser import Hosts
from webagent.environment.failures import EnvironmentFailure
from webagent.trajectory.faults import Fault
from webagent.trajectory.records import Json

MAX_EVENTS = 50
BROWSER_PAGES = ("about:blank", "chrome-error://chromewebdata/")

# Given up by the page or the user, not by the network.
_ABORTED = "net::ERR_ABORTED"


class NetworkWatch:
    """Collects, between two calls of `take`, what was refused and which pages failed."""

    def __init__(self, context: BrowserContext, hosts: Hosts) -> None:
        self._hosts = hosts
        self._events: list[Json] = []
        self._starting = True
        self._failure: EnvironmentFailure | None = None
        context.on("requestfailed", self._on_failed)
        context.on("response", self._on_response)
        context.on("page", self.observe)

    @property
    def failure(self) -> EnvironmentFailure | None:
        """The first failure of the task's own sites or of the browser, if there was one."""
        return self._failure

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

    def _on_crash(self, page: Page) -> None:
        self._fail(f"the page crashed: {page.url}", Fault.BROWSER_CRASH)

    def _on_failed(self, request: Request) -> None:
        reason = request.failure or "failed"
        host = urlsplit(request.url).hostname
        if host not in self._hosts:
            self._note({"type": "blocked", "url": request.url[:2000], "reason": reason})
        elif reason != _ABORTED and _is_page(request):
            self._fail(f"{request.url}: {reason}", Fault.SITE_NOT_READY)

    def _on_response(self, response: Response) -> None:
        if response.status < (400 if self._starting else 500) and response.status != 429:
            return
        self._note({"type": "http_error", "url": response.url[:2000], "status": response.status})
        if _is_page(response.request):
            self._fail(f"{response.url}: HTTP {response.status}", Fault.SITE_NOT_READY)

    def _note(self, event: Json) -> None:
        # The browser tries again by itself, which is no news.
        if event not in self._events and len(self._events) < MAX_EVENTS:
            self._events.append(event)

    def _fail(self, message: str, kind: Fault) -> None:
        if self._failure is None:
            self._failure = EnvironmentFailure(message, kind)


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


def _is_page(request: Request) -> bool:
    if not request.is_navigation_request():
        return False
    try:
        return request.frame.parent_frame is None
    except Error:  # a new tab asks before its frame is there
        return True
