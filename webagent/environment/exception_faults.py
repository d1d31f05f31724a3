"""What an exception means that came out of BrowserGym, Playwright or a task."""

from __future__ import annotations

import re
import traceback

import playwright.sync_api

from webagent.trajectory.faults import Fault

# BrowserGym's benchmarks log in by functions of such names (`ui_login` of WebArena and WorkArena).
_LOGS_IN = re.compile(r"log_?in|sign_?in", re.IGNORECASE)
_NAVIGATES = re.compile(r"\.(goto|reload|wait_for_load_state|wait_for_url)\b")


def fault_of(error: Exception, *, starting: bool) -> Fault:
    """The class of an error while the browser itself is well.

    Args:
        starting: the environment itself was opening pages and logging in.
    """
    message = str(error)
    if "net::ERR_" in message:
        return Fault.SITE_NOT_READY
    timed_out = isinstance(error, playwright.sync_api.TimeoutError)
    if starting and _was_logging_in(error) and not (timed_out and _is_navigation(message)):
        return Fault.LOGIN_FAILED
    if timed_out:
        return Fault.NAVIGATION_TIMEOUT if starting else Fault.BROWSER_HUNG
    return Fault.ENVIRONMENT_OTHER


def _is_navigation(message: str) -> bool:
    return _NAVIGATES.search(message.split(":", 1)[0]) is not None


def _was_logging_in(error: Exception) -> bool:
    frames = traceback.walk_tb(error.__traceback__)
    return any(_LOGS_IN.search(frame.f_code.co_name) for frame, _ in frames)
