"""Proposing causes of failures in the background."""

from __future__ import annotations

import logging
import time

from celery import shared_task

from judging.analysis.miniwob.proposing import proposal_for
from judging.models import SampledFailure
from runs.queue.sweeping import swept
from runs.queue.workers import ask_for

PROPOSE_CAUSES = "judging.tasks.propose_causes"
AT_ONE_GO_S = 20
"""Other work of the queue waits no longer than this."""


@shared_task(name=PROPOSE_CAUSES, time_limit=660)
def propose_causes() -> None:
    """Look at failures that were drawn; the sweep asks again till none waits."""
    propose_waiting(limit_s=AT_ONE_GO_S)


@swept
def ask_for_proposals() -> None:
    """Have drawn failures looked at that wait for it."""
    if proposals_wait():
        ask_for(PROPOSE_CAUSES)


logger = logging.getLogger(__name__)


def proposals_wait() -> bool:
    """Whether there is a sampled failure that was not looked at yet."""
    return SampledFailure.objects.filter(proposal__isnull=True).exists()


def propose_waiting(*, limit_s: float) -> None:
    """Look at what waits, newest samples first, till nothing does or the time is over.

    Several may do it at a time: they come to the same.
    """
    ends = time.monotonic() + limit_s
    waiting = SampledFailure.objects.filter(proposal__isnull=True).select_related("run")
    while time.monotonic() < ends:
        failure = waiting.order_by("-sample", "position").first()
        if failure is None:
            return
        try:
            proposal = proposal_for(failure.run)
        except Exception:  # what one run holds must not keep the others waiting
            logger.exception("No cause can be proposed for run %s.", failure.run_id)
            proposal = {}
        SampledFailure.objects.filter(pk=failure.pk).update(proposal=proposal)
