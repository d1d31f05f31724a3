"""Telling workers of leased work that waits."""

from __future__ import annotations

import logging

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

from runs.models import LeasedWork
from runs.models.leased_work_queries import MOST_TOLD_AGAIN

logger = logging.getLogger(__name__)


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
