"""Experiments and runs that wait for their sites: no attempt is spent until these are ready."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from runs.catalogue.sites import unready_sites
from runs.models import Experiment, ExperimentState, Run, RunStatus, Task
from runs.queue.attempts import announce
from runs.queue.leases import Lease
from runs.queue.steps import retry_write
from runs.queue.sweeping import swept


def start_ready_experiments() -> None:
    """Let every experiment run whose sites have become ready; note what the others wait for."""
    waiting = Experiment.objects.filter(state=ExperimentState.WAITING)
    for experiment in waiting:
        tasks = Task.objects.filter(
            runs__experiment=experiment, runs__status=RunStatus.QUEUED
        ).distinct()
        why = unready_words(tasks)
        state = ExperimentState.WAITING if why else ExperimentState.RUNNING
        # Unless somebody has paused or cancelled it meanwhile.
        waiting.filter(pk=experiment.pk).update(state=state, waits_because=why)


def unready_words(tasks: Iterable[Task]) -> str:
    """The sites of these tasks that are not ready, each with what is wrong; "" if all are."""
    return "; ".join(f"{state.site}: {state.why}" for state in unready_sites(tasks))


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
        retry_write(lambda: lease.put_off(settings.ENV.SITE_WAIT_S))
    else:
        retry_write(lambda: _give_up(run, lease, f"Not ready after {waited_s:.0f} s: {why}"))
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


swept(start_ready_experiments)
