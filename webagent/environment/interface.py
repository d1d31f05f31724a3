"""What every environment offers, whatever benchmark, site or world of text stands behind it."""

import difflib
import re
import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol, TypeVar

from webagent.trajectory.faults import Fault
from webagent.trajectory.live import Observation, StepResult
from webagent.trajectory.records import EnvironmentRecord, Json

T = TypeVar("T")


class Environment(Protocol):
    """One task, ready to be tried once. Every method may raise EnvironmentFailure."""

    def reset(self, seed: int | None) -> Observation:
        """The first observation of a fresh start."""

    def step(self, action: str) -> StepResult:
        """What an action led to. A bad action is an `error` in the result, not an exception.

        The result may bring the milestones that hold now; else `milestones` is asked.
        """

    def milestones(self) -> Mapping[str, bool]:
        """Which of the task's milestones hold now; empty if it defines none."""

    def evidence(self, evaluation: Json | None) -> Json:
        """What the pages show now, for evaluators that score later without them.

        Args:
            evaluation: the task's own specification (WebArena's `eval`), whose `program_html`
                targets are looked up; `pages` in the answer follows their order.
        """

    def describe(self) -> EnvironmentRecord:
        """The browser and the packages in use."""

    def close(self) -> None:
        """Leave nothing behind: no browser, no server, no thread. May be called twice."""


def take_step(environment: Environment, action: str) -> StepResult:
    """What an action led to, with the milestones that hold then, whichever way they are told."""
    result = environment.step(action)
    if result.milestones or not (reached := environment.milestones()):
        return result
    return replace(result, milestones=dict(reached))


class EnvironmentFailure(Exception):
    """The environment failed, not the agent: the run ends in an error and may be retried.

    `retry_after_s` is what the site asked for, where it did.
    """

    def __init__(
        self,
        message: str,
        fault: Fault = Fault.ENVIRONMENT_OTHER,
        *,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.fault = fault
        self.retry_after_s = retry_after_s

    @property
    def retriable(self) -> bool:
        """Whether the same run may well succeed later, with nothing changed."""
        return self.fault.may_pass


class UnknownTask(EnvironmentFailure):
    """No environment here provides a task of that name; the message says what is missing."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Fault.TASK_UNAVAILABLE)


def known_task(suite: str, task_name: str, known: Mapping[str, T]) -> T:
    """What the suite knows the task by.

    Raises:
        UnknownTask: there is none of that name; the message has those that come nearest.
    """
    if task_name in known:
        return known[task_name]
    near = difflib.get_close_matches(task_name, known, n=3)
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    raise UnknownTask(f"{suite} has no task {task_name!r}.{hint}")


# BrowserGym's benchmarks log in by functions of such names (`ui_login` of WebArena and WorkArena).
_LOGS_IN = re.compile(r"log_?in|sign_?in", re.IGNORECASE)
_HTTP_CLIENTS = frozenset({"requests", "urllib3", "httpx"})
# In WorkArena's words; others let their client's error through.
_NOT_READY = re.compile(r"\binstance\b.*\b(is not reachable|is hibernating)\b", re.IGNORECASE)
_NAVIGATES = re.compile(r"\.(goto|reload|wait_for_load_state|wait_for_url)\b")


def fault_of(error: Exception, *, starting: bool) -> Fault:
    """The class of an error while the browser itself is well.

    Args:
        starting: the environment itself was opening pages and logging in.
    """
    message = str(error)
    if "net::ERR_" in message or (starting and _asked_in_vain(error)):
        return Fault.SITE_NOT_READY
    from playwright.sync_api import TimeoutError as Timeout  # heavy, and pages need none of it

    timed_out = isinstance(error, Timeout)
    if starting and _was_logging_in(error) and not (timed_out and _is_navigation(message)):
        return Fault.LOGIN_FAILED
    if timed_out:
        return Fault.NAVIGATION_TIMEOUT if starting else Fault.BROWSER_HUNG
    return Fault.ENVIRONMENT_OTHER


def _asked_in_vain(error: Exception) -> bool:
    """Whether a benchmark's package found its site out of order before it opened a page."""
    package = type(error).__module__.partition(".")[0]
    return package in _HTTP_CLIENTS or _NOT_READY.search(str(error)) is not None


def _is_navigation(message: str) -> bool:
    return _NAVIGATES.search(message.split(":", 1)[0]) is not None


def _was_logging_in(error: Exception) -> bool:
    frames = traceback.walk_tb(error.__traceback__)
    return any(_LOGS_IN.search(frame.f_code.co_name) for frame, _ in frames)
