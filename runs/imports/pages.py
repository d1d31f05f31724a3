"""What the page of an import shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from runs.imports.forms import FORMAT_WORDS, AnswerForm
from runs.imports.reimporting import Became
from runs.models import ImportJob

SHOWN_READINGS = 20
WORDS: dict[str, Promise] = {
    Became.NEW: _("new: not understood or not found before"),
    Became.REPLACED: _("read better now: replaced, at its address"),
    Became.UNCHANGED: _("as it is here"),
    Became.KEPT: _("read otherwise now, and left as it is"),
    Became.DELETED: _("deleted since; stays out"),
    Became.UNREADABLE: _("not readable any more; left as it is"),
}


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of so many runs."""

    words: Promise
    n: int


def import_context(job: ImportJob, form: AnswerForm) -> dict[str, Any]:
    """The import with what was found, what came of it, and where its file is."""
    formats = [
        {**found, "name": FORMAT_WORDS.get(found["format"], found["format"])}
        for found in job.survey.get("formats", ())
    ]
    again = job.survey.get("again", {})
    counts = again.get("counts", {})
    read_again = job.report.get("read_again", ()) if job.report else again.get("runs", ())
    return {
        "job": job,
        "report": job.report,
        "form": form,
        "formats": formats,
        "fates": [Fate(words, counts[key]) for key, words in WORDS.items() if counts.get(key)],
        "read_again": [{**run, "words": WORDS.get(run["became"], "")} for run in read_again],
        "readings": () if job.is_active else job.readings.all()[:SHOWN_READINGS],
        "kept_until": kept_until(job),
    }


def kept_until(job: ImportJob) -> datetime | None:
    """Until when its file rests here at most; None if it does not."""
    if not job.owns_kept_file or job.ended_at is None:
        return None
    return job.ended_at + timedelta(days=settings.ENV.UPLOAD_KEEP_DAYS)
