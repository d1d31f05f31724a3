"""A BrowserGym task as an Environment, in a thread and a browser of its own.

Playwright's driver, started before anybody waits for it.

Every run has a driver to itself, and one takes about half a second to start. A process that
carries out one run after the other has the next one's started while it has nothing to do.
"""

import logging
import os
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from typing import Any, Self, TypeVar

from webagent.environment.browser import BrowserSettings, Hosts
from webagent.environment.browsergym_browsers import driver_answers, start_driver, stop_playwright
from webagent.environment.browsergym_session import BrowserGymSession
from webagent.environment.browsergym_task import RetryWaits, TaskEntrypoint
from webagent.environment.interface import EnvironmentFailure
from webagent.process.children import OwnThread, StillRunning
from webagent.trajectory.faults import Fault
from webagent.trajectory.live import Observation, StepResult
from webagent.trajectory.records import EnvironmentRecord, Json

logger = logging.getLogger(__name__)


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a run has its own record."""

    def guess_type(self, path: str | PathLike[str]) -> str:
        """The type with its letters said: browsers take a page that says nothing for Latin."""
        found = super().guess_type(path)
        return f"{found}; charset=utf-8" if found.startswith("text/") else found


class LocalSite:
    """A running server for one folder, on a port that was free."""

    def __init__(self, directory: Path) -> None:
        handler = partial(_QuietHandler, directory=str(directory))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        host, port = self._server.server_address[:2]
        return f"{host!s}:{port}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


ANSWER_TIMEOUT_S = 15.0


class SpareDriver:
    """At most one thread with a driver that no run has had yet. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: OwnThread | None = None

    def prepare(self) -> None:
        """Have one started in the background, unless there is one."""
        with self._lock:
            if self._thread is None:
                self._thread = OwnThread("browser")
                self._thread.begin(start_driver)

    def take(self) -> OwnThread:
        """A thread for one run: that of the spare driver if it answers, else a new one."""
        with self._lock:
            spare, self._thread = self._thread, None
        if spare is None:
            return OwnThread("browser")
        try:
            if spare.call(driver_answers, ANSWER_TIMEOUT_S):
                return spare
        except StillRunning:
            logger.warning("A driver that was started beforehand hangs; the run gets another.")
        spare.stop(0)
        return OwnThread("browser")


spare_driver = SpareDriver()
"""That of this process."""


T = TypeVar("T")


PACKAGES = ("browsergym-core", "playwright")
CLOSE_TIMEOUT_S = 15.0
AFTER_KILL_TIMEOUT_S = 5.0


@dataclass(eq=False, repr=False)
class BrowserGymEnvironment:
    """An Environment over any BrowserGym task.

    Args:
        entrypoint: the task's class, called with `seed` and `task_arguments`.
        sites: folders of pages to serve while it is open, by the host name the browser uses.
        allowed_hosts: hosts out on the network that the task needs.
        packages: what to name in the record beside BrowserGym and Playwright.
        foreign_hosts: those among the hosts that are none of the task's own sites, as `host` or
            `host:port`: an error page there is the agent's business.
        delay_s: how long a page may settle after an action before it is looked at.
        patience: how long a page of the task's own sites may be out of order.
    """

    entrypoint: TaskEntrypoint
    _: KW_ONLY
    task_arguments: Mapping[str, Any] = field(default_factory=dict)
    sites: Mapping[str, Path] = field(default_factory=dict)
    allowed_hosts: frozenset[str] = frozenset()
    foreign_hosts: frozenset[str] = frozenset()
    packages: tuple[str, ...] = ()
    settings: BrowserSettings = BrowserSettings()
    delay_s: float = 0.5
    reset_timeout_s: float = 90.0
    step_timeout_s: float = 60.0
    patience: RetryWaits = RetryWaits()

    def __post_init__(self) -> None:
        self._site_retries = 0
        self._sites: list[LocalSite] = []
        self._thread: OwnThread | None = None
        self._session: BrowserGymSession | None = None
        self._description = EnvironmentRecord()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def reset(self, seed: int | None) -> Observation:
        """The first observation, in a new browser."""
        self.close()
        local = {}
        for host, directory in self.sites.items():
            site = LocalSite(directory)
            self._sites.append(site)
            local[host] = site.address
        hosts = Hosts(allowed=self.allowed_hosts, local=local, foreign=self.foreign_hosts)
        self._thread = spare_driver.take()
        return self._call(lambda: self._start(seed, hosts), self.reset_timeout_s)

    def step(self, action: str) -> StepResult:
        session = self._open_session()
        return self._call(lambda: session.step(action), self.step_timeout_s)

    def milestones(self) -> Mapping[str, bool]:
        return self._open_session().milestones()

    def evidence(self, evaluation: Json | None) -> Json:
        session = self._open_session()
        return self._call(lambda: session.evidence(evaluation), self.step_timeout_s)

    def describe(self) -> EnvironmentRecord:
        """The browser and the packages in use; empty before the first reset."""
        retries = self._site_retries + (self._session.waits.count if self._session else 0)
        return self._description.model_copy(update={"site_retries": retries or None})

    def close(self) -> None:
        """Leave nothing behind, even if the browser no longer answers."""
        session, thread = self._session, self._thread
        self._site_retries += session.waits.count if session else 0
        self._session = self._thread = None
        try:
            if thread is not None:
                _end(session, thread)
        finally:
            while self._sites:
                self._sites.pop().close()

    def _start(self, seed: int | None, hosts: Hosts) -> Observation:
        session = BrowserGymSession(
            self.entrypoint,
            self.task_arguments,
            self.settings,
            hosts,
            delay_s=self.delay_s,
            patience=self.patience,
        )
        self._session = session
        observation = session.reset(seed)
        self._description = EnvironmentRecord(
            viewport_width=session.viewport["width"],
            viewport_height=session.viewport["height"],
            browser=f"chromium {session.version}",
            packages=tuple(map(_package, (*PACKAGES, *self.packages))),
        )
        return observation

    def _call(self, function: Callable[[], T], timeout_s: float) -> T:
        assert self._thread is not None  # noqa: S101 (mypy; reset sets it)
        try:
            return self._thread.call(function, timeout_s, not_counted_s=self._waited_s)
        except StillRunning:
            # Nothing more will come of it, and what hangs would hang `close` too.
            _kill_browsers(self._session)
            raise EnvironmentFailure(
                f"the browser did not answer within {timeout_s:g} seconds", Fault.BROWSER_HUNG
            ) from None

    def _waited_s(self) -> float:
        """How long the session has waited for sites on purpose: that is no hanging."""
        return self._session.waits.seconds if self._session else 0.0

    def _open_session(self) -> BrowserGymSession:
        if self._session is None:
            raise EnvironmentFailure("the environment was not reset, or is closed")
        return self._session


def _end(session: BrowserGymSession | None, thread: OwnThread) -> None:
    """Close the session in its thread; where that hangs, end the browser first."""
    try:
        # Without a session there may be a driver all the same.
        thread.call(session.close if session else stop_playwright, CLOSE_TIMEOUT_S)
    except StillRunning:
        _kill_browsers(session)
    if not thread.stop(AFTER_KILL_TIMEOUT_S):
        logger.error("A browser's thread did not end; its processes may be left.")


def _kill_browsers(session: BrowserGymSession | None) -> None:
    """End the session's browsers: calls that wait for them fail, and the next has its turn."""
    for pid in session.browser_pids if session else ():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _package(name: str) -> str:
    try:
        return f"{name}=={version(name)}"
    except PackageNotFoundError:
        return name
