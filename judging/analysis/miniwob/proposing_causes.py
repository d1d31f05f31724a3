"""Proposing causes for sampled failures: takes the files of several steps of each."""

from __future__ import annotations

import logging
import time

from judging.analysis.miniwob.proposing import proposal_for
from judging.models import SampledFailure

logger = logging.getLogger(__name__)


def proposals_wait() -> bool:
    """Whether there is a sampled failure that was not looked at yet."""
    return SampledFailure.objects.filter(proposal__isnull=True).exists()


def propose_causes(*, limit_s: float) -> None:
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
