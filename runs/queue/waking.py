"""Messages that say "there is work". Losing one costs time, never a run.

They name no run: whichever worker takes one asks the database whose turn it is.
"""

from __future__ import annotations

import logging

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

from runs.models import Run
from runs.queue.workers import idle_browsers

logger = logging.getLogger(__name__)

EXECUTE_NEXT = "runs.tasks.execute_next_run"
MOST_MESSAGES = 100


def wake_workers(most: int = MOST_MESSAGES) -> None:
    """Send as many messages as there are due runs and idle browsers to take them.

    One even if all seem busy, as long as there are any: a dead worker's runs look like work. Call
    it once the rows are committed. Without a broker they stay for the next sweep.
    """
    idle = idle_browsers()
    if idle is None:
        return
    due = Run.objects.due_somewhere(min(most, max(idle, 1)))
    for number in range(due):
        try:
            # One that is late has been sent again by then.
            void_after_s = settings.ENV.LEASE_S + settings.CLOCKS_DIFFER_S
            current_app.send_task(EXECUTE_NEXT, queue="browser", retry=False, expires=void_after_s)
        except OperationalError:
            logger.warning(
                "The broker cannot be reached; %d runs wait for the next sweep.", due - number
            )
            return
