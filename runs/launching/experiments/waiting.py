"""Experiments that wait for their sites, and start once these are ready."""

from __future__ import annotations

from collections.abc import Iterable

from runs.catalogue.sites import unready_sites
from runs.models import Experiment, ExperimentState, RunStatus, Task


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
