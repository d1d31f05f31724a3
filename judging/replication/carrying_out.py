"""Carrying a replication out: in this process by a command, or part by part by the sweep."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from judging.evaluating import batches
from judging.models import EvaluationBatch, Replication
from judging.replication.study_parts import StudyFileError
from judging.replication.work import ACTIVE, Work
from runs.catalogue.agents.choices import ModelUnavailableError
from runs.knowledge import learning
from runs.launching.experiments.selection import PlanError
from runs.launching.experiments.services import active_runs, carry_out_experiment
from runs.models.leased_work import WorkState
from runs.queue.paid_work import Watcher, WorkRefusedError
from runs.queue.sweeping import swept

logger = logging.getLogger(__name__)
POLL_S = 1.0
REFUSED = (StudyFileError, PlanError, WorkRefusedError, ModelUnavailableError)
"""What says that a part cannot be done as things are."""


def carry_out_here(
    work: Work,
    *,
    should_stop: Callable[[], bool],
    on_change: Callable[[], None],
) -> bool:
    """Until nothing is left but what people have to do; False if it was stopped before.

    What another process left is taken up once its lease has run out.

    Raises:
        StudyFileError, PlanError, WorkRefusedError, ModelUnavailableError: a part cannot be done.
    """
    work.import_runs()
    while not should_stop():
        work.start_all()
        on_change()
        if not work.is_under_way():
            return work.is_over() or _stands_still(work)
        if not _some(work, should_stop, on_change):
            time.sleep(POLL_S)
    return False


def _stands_still(work: Work) -> bool:
    """Never: whatever is not over stands still for a reason, which is raised.

    Raises:
        WorkRefusedError: a job or batch stopped, and what comes next waits for it.
    """
    for each in (*work.jobs(), *work.batches()):
        if each.state in WorkState.stopped():
            raise WorkRefusedError(f"{each}: {each.problem or each.get_state_display()}")
    raise WorkRefusedError("nothing is under way, and a part still waits: an arm has no runs")


def _some(work: Work, should_stop: Callable[[], bool], on_change: Callable[[], None]) -> bool:
    """Do some of what is under way; whether any of it was there to be had."""
    found = False
    for experiment in work.sources.experiments:
        if active_runs(experiment).exists():
            carry_out_experiment(experiment, should_stop=should_stop, on_change=on_change)
            return True
    for job in work.jobs():
        if job.state in ACTIVE:
            found = learning.carry_out(job.pk) or found
    for batch in work.batches():
        if batch.state in ACTIVE:
            watcher = Watcher[EvaluationBatch](is_interrupted=should_stop)
            found = batches.carry_out(batch.pk, watcher) or found
    on_change()
    return found


@swept
def go_on_with_replications() -> None:
    """Start what has become due of those that were started from a page."""
    rows = Replication.objects.exclude(started_at=None).filter(ended_at=None, problem="")
    for replication in rows.order_by("pk"):
        go_on(replication)


def go_on(replication: Replication, *, is_resumed: bool = False) -> None:
    """Start what can be started; where it cannot, the row says why and rests."""
    work = Work(replication, user=replication.created_by)
    try:
        if is_resumed:
            work.resume()
        work.start_all()
    except REFUSED as why:
        logger.info("The replication %s rests: %s", replication.name, why)
        Replication.objects.filter(pk=replication.pk).update(problem=str(why)[:2000])
