"""Carrying out an experiment's runs in this process, beside whatever workers there are."""

from __future__ import annotations

import time
from collections.abc import Callable
from uuid import UUID

from django.db.models import QuerySet

from runs.launching.carrying_out.running import execute
from runs.models import Experiment, ExperimentState, Run, RunStatus
from runs.queue.sweeping import sweep_runs

POLL_S = 1.0
AT_A_TIME = 50
"""So many runs are read of the queue at once; others may have taken them meanwhile."""

Watcher = Callable[[], None]


def carry_out_experiment(
    experiment: Experiment,
    *,
    takes_part: bool = True,
    should_stop: Callable[[], bool],
    on_change: Watcher,
    wait: Callable[[float], None] = time.sleep,
) -> bool:
    """Until no run of it is to come, one run after the other; False if it was stopped before.

    A run that is under way is finished first. What another process left is taken up once its
    lease has run out, as a further attempt of the same trial.

    Args:
        takes_part: False leaves the runs to the workers, and only waits.
        on_change: called whenever a run may have ended.
    """
    while not should_stop():
        on_change()
        if not active_runs(experiment).exists():
            return True
        if Experiment.objects.get(pk=experiment.pk).state == ExperimentState.CANCELLED:
            return False
        if not takes_part or not _some(_due(experiment), should_stop, on_change):
            sweep_runs()
            wait(POLL_S)
    on_change()
    return not active_runs(experiment).exists()


def active_runs(experiment: Experiment) -> QuerySet[Run]:
    """Its runs that are still to end."""
    return Run.objects.filter(experiment=experiment, status__in=RunStatus.active())


def _due(experiment: Experiment) -> list[UUID]:
    waiting = Run.objects.filter(experiment=experiment, status=RunStatus.QUEUED)
    return list(waiting.due().order_by("trial", "pk").values_list("pk", flat=True)[:AT_A_TIME])


def _some(due: list[UUID], should_stop: Callable[[], bool], on_change: Watcher) -> bool:
    """Whether any of them was there to be had."""
    found = False
    for run_id in due:
        if should_stop():
            break
        found = execute(run_id) or found
        on_change()
    return found
