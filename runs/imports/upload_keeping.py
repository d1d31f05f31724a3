"""Which uploaded files are still needed: those of work under way, and those that rest here.

A file rests so that better importers can read it again: for `UPLOAD_KEEP_DAYS`, and while all that
rest take no more than `UPLOAD_KEEP_BYTES`; the oldest go first.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from runs.imports.kept_uploads import drop_upload, kept_places
from runs.models import ImportJob


def drop_unneeded() -> None:
    """Delete uploads that nobody needs any more."""
    long_ago = timezone.now() - timedelta(seconds=settings.ENV.ORPHAN_GRACE_S)
    here = dict(kept_places())
    known, needed = _jobs_of(here)
    for place, written_at in here.items():
        if place in needed or (place not in known and written_at > long_ago):
            continue
        drop_upload(place)
        ImportJob.objects.filter(path=place, keeps_file=True).update(keeps_file=False)


def drop_if_done_with(job: ImportJob) -> None:
    """Delete the file of an import that has just ended, unless it is to rest here."""
    if job.reads_again_id or job.awaits_word or job.owns_kept_file:
        return
    drop_upload(job.path)


def _jobs_of(places: Collection[str]) -> tuple[set[str], set[str]]:
    """Those of the places that any import names, and those that are needed."""
    now = timezone.now()
    waits_since = now - timedelta(seconds=settings.ENV.ORPHAN_GRACE_S)
    rests_since = now - timedelta(days=settings.ENV.UPLOAD_KEEP_DAYS)
    room = settings.ENV.UPLOAD_KEEP_BYTES
    known, needed = set(), set()
    columns = ("path", "size", "state", "only_looks", "ended_at", "keeps_file", "reads_again_id")
    for job in ImportJob.objects.filter(path__in=places).only(*columns).order_by("-ended_at"):
        known.add(job.path)
        if job.is_active:
            needed.add(job.path)
        elif job.ended_at is None:
            continue
        elif job.awaits_word and job.ended_at > waits_since:
            needed.add(job.path)
        elif job.owns_kept_file and job.ended_at > rests_since and job.size <= room:
            room -= job.size
            needed.add(job.path)
    return known, needed
