"""A BrowserGym task under watch: its page loads are recorded, and it never pauses for onlookers."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import playwright.sync_api
from playwright.sync_api import Error

from webagent.environment.browser import Hosts
from webagent.environment.interface import EnvironmentFailure
from webagent.environment.network import NetworkWatch
from webagent.trajectory.records import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryWaits:
    """How often and how long a page of the task's own site is waited for within one attempt.

    Short on purpose: what takes longer is for the next attempt, which starts afresh.

    Args:
        tries: how often a page is loaded again.
        first_wait_s: before the first time; doubled with every further one.
        longest_wait_s: a site that asks for more (Retry-After) is abandoned at once, since
            coming back early is what it asks not to do.
    """

    tries: int = 3
    first_wait_s: float = 1.0
    longest_wait_s: float = 10.0

    def wait_s(self, tried: int, failures: Iterable[EnvironmentFailure]) -> float | None:
        """Seconds until the next try, after so many; None if there is to be none."""
        if tried >= self.tries:
            return None
        asked = max((failure.retry_after_s or 0.0 for failure in failures), default=0.0)
        if asked > self.longest_wait_s:
            return None
        return max(asked, min(self.first_wait_s * 2.0**tried, self.longest_wait_s))


@dataclass(slots=True)
class SiteWaits:
    """Waits for the site so far: how often and how long, including the one under way.

    Written by the browser's thread alone; others may read it.
    """

    count: int = 0
    seconds: float = 0.0

    def wait(self, seconds: float) -> None:
        self.count += 1
        self.seconds += seconds
        time.sleep(seconds)


def settle(watch: NetworkWatch, patience: RetryWaits, waits: SiteWaits) -> None:
    """Reload broken pages until they load or the retries are used up."""
    tried = 0
    while broken := [page for page in watch.broken() if page.may_pass]:
        wait_s = patience.wait_s(tried, (page.failure for page in broken))
        if wait_s is None:
            break
        waits.wait(wait_s)
        tried += 1
        for each in broken:
            watch.note(site_retry(each.failure, tried, wait_s))
            if each.page is not None:
                # The watch records the result; no answer in time leaves the page broken.
                with suppress(Error):
                    each.page.reload()


def site_retry(failure: EnvironmentFailure, tried: int, wait_s: float) -> Json:
    """The event that says why something was loaded again."""
    return {
        "type": "site_retry",
        "why": str(failure)[:2000],
        "fault": failure.fault.value,
        "try": tried,
        "waited_s": round(wait_s, 3),
    }


TaskEntrypoint = Callable[..., Any]
"""Makes a BrowserGym task from `seed` and the task's own keyword arguments."""


class WatchedTask:
    """The four methods that BrowserGym calls, around those of the task itself."""

    def __init__(self, task: Any, hosts: Hosts, patience: RetryWaits, waits: SiteWaits) -> None:
        self._task = task
        self._hosts = hosts
        self._patience = patience
        self._waits = waits
        self.watch: NetworkWatch | None = None
        self.viewport = task.viewport
        self.timeout = task.timeout
        self.locale = task.locale
        self.timezone_id = task.timezone_id
        # Pauses after every call are for people who look on.
        self.slow_mo = 0

    def setup(self, page: playwright.sync_api.Page) -> Any:
        self.watch = NetworkWatch(page.context, self._hosts)
        self.watch.observe(page)
        goal = self._task.setup(page)
        self.watch.started()
        return goal

    def validate(self, page: playwright.sync_api.Page, chat_messages: list[Any]) -> Any:
        # The first moment at which the page is loaded and nobody has looked at it yet.
        if self.watch is not None and self.watch.failure is not None:
            settle(self.watch, self._patience, self._waits)
        return self._task.validate(page, chat_messages)

    def teardown(self) -> None:
        self._task.teardown()
