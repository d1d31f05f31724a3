"""Telling workers of leased work that waits."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

from runs.models import LeasedWork

logger = logging.getLogger(__name__)

WorkT = TypeVar("WorkT", bound=LeasedWork)


def dispatch(kind: type[WorkT], task: str, queue: Callable[[WorkT], str]) -> None:
    """Send the message for all work of the kind whose message is missing or lost.

    Args:
        task: name of the task, which takes the id of a piece of work.
        queue: of the message.
    """
    told = kind.objects.take_undispatched(older_than_s=settings.ENV.LEASE_S)
    for number, work in enumerate(told):
        try:
            current_app.send_task(task, (str(work.pk),), retry=False, queue=queue(work))
        except OperationalError:
            logger.warning(
                "The broker cannot be reached; each waiting %s waits for the next sweep.",
                kind._meta.verbose_name,
            )
            kind.objects.undispatch(work.pk for work in told[number:])
            return
