"""Proposing causes of failures in the background."""

from __future__ import annotations

from celery import shared_task

from judging.analysis.miniwob.proposing_causes import proposals_wait
from judging.analysis.miniwob.proposing_causes import propose_causes as propose_waiting
from runs.queue.messages import ask_for
from runs.queue.sweeping import swept

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
