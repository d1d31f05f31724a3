"""Measuring the store, keeping the rules of experiments, and cleaning up, in the background."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from celery import shared_task

from runs.operations.retention.clean_up import delete_doomed
from runs.operations.space.measuring import is_due, measure_space
from runs.queue.messages import ask_for
from runs.queue.sweeping import swept

MEASURE = "runs.tasks.measure_space"
AT_A_SWEEP = 2000


Follower = TypeVar("Follower", bound=Callable[[], object])
_followers: list[Callable[[], object]] = []


def after_measurement(function: Follower) -> Follower:
    """Have the function called after every measurement. It must be safe to run twice at a time."""
    _followers.append(function)
    return function


@shared_task(name=MEASURE)
def measure() -> None:
    """Measure how full the store is, and do what depends on the time of day or less."""
    measure_space()
    for function in _followers:
        function()


@swept
def measure_when_due() -> None:
    """Ask for a measurement now and then; one whose message is lost is asked for again later."""
    if is_due():
        ask_for_measurement()


def ask_for_measurement() -> None:
    """Have the store measured soon, if there is a broker."""
    ask_for(MEASURE)


@swept
def clean_up() -> None:
    """Files of deleted runs go once their grace period is over."""
    delete_doomed(at_most=AT_A_SWEEP)
