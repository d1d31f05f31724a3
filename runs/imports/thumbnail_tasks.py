"""Thumbnails in the background."""

from __future__ import annotations

from celery import shared_task

from runs.imports.thumbnailing import make_thumbnails as make
from runs.imports.thumbnailing import thumbnails_wait
from runs.queue.messages import ask_for
from runs.queue.sweeping import swept

MAKE_THUMBNAILS = "runs.tasks.make_thumbnails"
AT_ONE_GO_S = 30
"""Other work of the queue waits no longer than this."""


@shared_task(name=MAKE_THUMBNAILS)
def make_thumbnails() -> None:
    """Make some; the sweep asks again while any wait."""
    make(limit_s=AT_ONE_GO_S)


@swept
def ask_for_thumbnails() -> None:
    """Have those made that wait. What nobody hears is asked again at the next sweep."""
    if thumbnails_wait():
        ask_for(MAKE_THUMBNAILS)
