"""Thumbnails of pictures that were imported, made in the background."""

import logging
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from celery import shared_task
from django.db import DatabaseError, transaction

from runs.models import Blob
from runs.queue.sweeping import swept
from runs.queue.workers import ask_for
from runs.storage.blobs import BlobBatch, MissingBlobError, read_blob
from runs.storage.usage import forget_runs_with
from webagent.trajectory.blobs import ImageError

logger = logging.getLogger(__name__)

AT_A_TIME = 40
"""Pictures that are read before their thumbnails are stored: what one transaction holds."""
THREADS = 2
"""Decoding and encoding leave Python's lock, so that so many pictures are made at once."""


def thumbnails_wait() -> bool:
    """Whether a picture has none yet and is to get one."""
    return Blob.objects.filter(awaits_thumbnail=True).exists()


def make_thumbnails(*, limit_s: float = float("inf")) -> int:
    """Make thumbnails until none waits or the time is over; how many pictures were looked at.

    Twice is as good as once, and several may do it at a time: each begins somewhere else. A
    picture that cannot be decoded stays as it is, without one.
    """
    ends, done = time.monotonic() + limit_s, 0
    with ThreadPoolExecutor(THREADS) as threads:
        while time.monotonic() < ends and (some := _take()):
            batch = BlobBatch()
            list(threads.map(partial(_add, batch), some))
            try:
                _store(batch, some)
            except DatabaseError as error:
                logger.warning("Thumbnails wait for the next time: %s", error)
                break
            done += len(some)
    return done


def _take() -> list[Blob]:
    """Some that wait, from anywhere among the hashes on, or else from the first on."""
    waiting = Blob.objects.filter(awaits_thumbnail=True).order_by("sha256")
    somewhere = waiting.filter(sha256__gte=secrets.token_hex(32))
    return list(somewhere[:AT_A_TIME]) or list(waiting[:AT_A_TIME])


def _add(batch: BlobBatch, blob: Blob) -> None:
    try:
        batch.add_thumbnail(blob, read_blob(blob))
    except (ImageError, MissingBlobError) as error:
        logger.warning("No thumbnail of picture %s: %s", blob.pk, error)


@transaction.atomic
def _store(batch: BlobBatch, pictures: list[Blob]) -> None:
    batch.save()
    for picture in pictures:
        picture.awaits_thumbnail = False
    Blob.objects.bulk_update(pictures, ["thumbnail", "awaits_thumbnail"])
    forget_runs_with([picture.pk for picture in pictures])


MAKE_THUMBNAILS = "runs.tasks.make_thumbnails"
AT_ONE_GO_S = 30
"""Other work of the queue waits no longer than this."""


@shared_task(name=MAKE_THUMBNAILS)
def make_thumbnails_task() -> None:
    """Make some; the sweep asks again while any wait."""
    make_thumbnails(limit_s=AT_ONE_GO_S)


@swept
def ask_for_thumbnails() -> None:
    """Have those made that wait. What nobody hears is asked again at the next sweep."""
    if thumbnails_wait():
        ask_for(MAKE_THUMBNAILS)
