"""A BrowserGym task behind a wall: what it loads is watched, and it waits for nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import playwright.sync_api

from webagent.environment.browser import Hosts
from webagent.environment.network import NetworkWatch
from webagent.environment.patience import Patience, SiteWaits, settle

TaskEntrypoint = Callable[..., Any]
"""Makes a BrowserGym task from `seed` and the task's own keyword arguments."""


class WatchedTask:
    """The four methods that BrowserGym calls, around those of the task itself."""

    def __init__(self, task: Any, hosts: Hosts, patience: Patience, waits: SiteWaits) -> None:
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
