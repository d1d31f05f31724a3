"""A run whose site is not ready waits in the queue, and no attempt is spent on it."""

from __future__ import annotations

import logging

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from runs.launching.experiments.waiting import unready_words
from runs.models import Run, RunStatus
from runs.queue.attempts import announce
from runs.queue.leases import Lease
from runs.queue.steps import patiently

logger = logging.getLogger(__name__)


def put_off_until_ready(run: Run, lease: Lease) -> bool:
    """Whether the run cannot start now: it waits again, or has waited long enough and ends.

    Call it before the run starts. The sites are asked at most every few seconds.

    Raises:
        LeaseLostError: the run is no longer ours.
    """
    why = unready_words([run.task])
    if not why:
        return False
    waited_s = (timezone.now() - run.waits_since).total_seconds() if run.waits_since else 0.0
    if waited_s < settings.ENV.SITE_PATIENCE_S:
        logger.warning("Run %s waits: %s.", run.pk, why)
        patiently(lambda: lease.put_off(settings.ENV.SITE_WAIT_S))
    else:
        patiently(lambda: _give_up(run, lease, f"Not ready after {waited_s:.0f} s: {why}"))
    return True


@transaction.atomic
def _give_up(run: Run, lease: Lease, why: str) -> None:
    lease.end(
        RunStatus.FAILED,
        outcome=Run.Outcome.ERROR,
        end_reason=Run.EndReason.NEVER_STARTED,
        error_origin=Run.ErrorOrigin.ENVIRONMENT,
        fault=Run.Fault.SITE_NOT_READY,
        error_message=why,
    )
    announce(run.pk)
