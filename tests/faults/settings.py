"""Settings of the processes that faults are caused in: those of the tests, a suite without a
browser, so that many runs are under way at a time, and a broker of files that faults reach."""

from webagent.environment.registry import register_suite
from webagent.settings.test import *  # noqa: F403 (settings are stars)
from webagent.settings.test import ENV

register_suite("waiting", "tests.faults.waiting_suite")
if not ENV.REDIS_URL:
    CELERY_BROKER_TRANSPORT = "tests.faults.deaf_broker:DeafTransport"
