"""Settings of the processes that faults are caused in: those of the tests, and a suite without a
browser, so that many runs are under way at a time."""

from webagent.environment.registry import register_suite
from webagent.settings.test import *  # noqa: F403 (settings are stars)

register_suite("waiting", "tests.faults.waiting_suite")
