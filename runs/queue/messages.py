"""Messages that say "there is work". Losing one costs time, never a run.

They name no run: whichever worker takes one asks the database whose turn it is.
"""

from __future__ import annotations

import logging

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

from runs.models import LeasedWork, Run
from runs.models.leased_work import MOST_TOLD_AGAIN
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


def ask_for(task: str) -> bool:
    """Have the task carried out soon; False without a broker.

    One that no worker took meanwhile is void, for the next one has been sent by then.
    """
    void_after_s = settings.ENV.LEASE_S + settings.CLOCKS_DIFFER_S
    try:
        current_app.send_task(task, queue="default", retry=False, expires=void_after_s)
    except OperationalError:
        return False
    return True


def dispatch(kind: type[LeasedWork], task: str, *, most_again: int = MOST_TOLD_AGAIN) -> None:
    """Send the message for all work of the kind whose message is missing or lost.

    Args:
        task: name of the task, which takes the id of a piece of work.
        most_again: for no more than so many a message is sent again. A worker that is through with
            one has one more sent, so that it need not wait for a sweep after each of them.
    """
    told = kind.objects.take_undispatched(older_than_s=settings.ENV.LEASE_S, most_again=most_again)
    for number, work in enumerate(told):
        try:
            current_app.send_task(task, (str(work.pk),), retry=False, queue=work.queue)
        except OperationalError:
            logger.warning(
                "The broker cannot be reached; each waiting %s waits for the next sweep.",
                kind._meta.verbose_name,
            )
            kind.objects.undispatch(work.pk for work in told[number:])
            return
