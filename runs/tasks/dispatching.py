"""Messages that say "look at this row". Losing one costs time, never a run."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from uuid import UUID

from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

from runs.models import Run

logger = logging.getLogger(__name__)

EXECUTE_RUN = "runs.tasks.execute_run"
MESSAGES_PER_SWEEP = 100


def dispatch(run_ids: Sequence[UUID]) -> None:
    """Tell the workers of these runs, if they are due. Call it once their rows are committed."""
    _send(Run.objects.filter(pk__in=run_ids).take_undispatched(older_than_s=settings.ENV.LEASE_S))


def dispatch_due(limit: int = MESSAGES_PER_SWEEP) -> None:
    """Tell the workers of the runs that wait longest and whose message is missing or lost."""
    _send(Run.objects.take_undispatched(older_than_s=settings.ENV.LEASE_S, limit=limit))


def _send(run_ids: list[UUID]) -> None:
    """Send one message each. Without a broker the rows stay for the next sweep."""
    for number, run_id in enumerate(run_ids):
        try:
            current_app.send_task(EXECUTE_RUN, (str(run_id),), retry=False, queue="browser")
        except OperationalError:
            logger.warning(
                "The broker cannot be reached; %d runs wait for the next sweep.",
                len(run_ids) - number,
            )
            Run.objects.undispatch(run_ids[number:])
            return
