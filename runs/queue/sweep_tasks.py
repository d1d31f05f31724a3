"""The sweep: what brings back lost messages and the work of dead workers.

Neither the file-system broker nor Redis gives back in time what a killed worker held, so this is
the only recovery. Each part of the site that queues work registers what it looks after. A process
of its own sweeps by the clock (`runs.operations.processes.worker_parts`), whatever workers and
broker do; the task is for those who do not want to wait for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from celery import shared_task

from runs.queue.asking import ask_for

logger = logging.getLogger(__name__)

SWEEP = "runs.tasks.sweep"
SWEEP_LIMIT_S = 300
"""One that takes longer stands still."""

Sweeper = TypeVar("Sweeper", bound=Callable[[], object])
_sweepers: list[Callable[[], object]] = []


def swept(function: Sweeper) -> Sweeper:
    """Have the function called at every sweep. It must be safe to run twice at a time."""
    _sweepers.append(function)
    return function


@shared_task(name=SWEEP, time_limit=SWEEP_LIMIT_S)
def sweep() -> None:
    """Call every registered function; one that fails does not keep the others from theirs."""
    for function in _sweepers:
        try:
            function()
        except Exception:
            logger.exception("The sweep of %s failed.", function.__qualname__)


def ask_for_sweep() -> None:
    """Have a sweep soon; without a broker there is one anyway, a little later."""
    if not ask_for(SWEEP):
        logger.warning("The broker cannot be reached; the next sweep comes by the clock.")
