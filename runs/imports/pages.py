"""What the page of an import shows."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from runs.imports.forms import FORMAT_WORDS, AnswerForm
from runs.imports.reimporting import Became
from runs.models import ImportJob

SHOWN_READINGS = 20
WORDS: dict[str, Promise] = {
    Became.NEW: _("new: not understood or not found before"),
    Became.REPLACED: _("read better now: replaced"),
    Became.UNCHANGED: _("unchanged"),
    Became.KEPT: _("read differently now: kept as it is"),
    Became.DELETED: _("deleted since: left out"),
    Became.UNREADABLE: _("no longer readable: kept as it is"),
}


def import_row(job: ImportJob) -> dict[str, Any]:
    """An import in the table of all: its state by class and words, cells by heading."""
    counts = (job.report or {}).get("counts", {})
    done: int | str | None = None if job.is_active else job.n_done
    if job.is_active and job.n_total:
        done = gettext("%(n)s of %(max)s") % {"n": job.n_done, "max": job.n_total}
    cells: dict[str | Promise, object] = {
        _("Runs"): done,
        _("Imported"): counts.get("imported"),
        _("Already there"): counts.get("already_there"),
        _("Rejected"): counts.get("rejected"),
    }
    return {"sent": job, "state": _shown_state(job), "cells": cells}


def _shown_state(job: ImportJob) -> tuple[str, str | Promise]:
    if not job.awaits_confirmation:
        return job.state, job.get_state_display()
    if (job.survey or {}).get("counts", {}).get("runs"):
        return "queued", _("awaits your decision")
    return "failed", _("nothing to import")


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
        "state": _shown_state(job),
        "report": job.report,
        "form": form,
        "formats": formats,
        "fates": [(counts[key], words) for key, words in WORDS.items() if counts.get(key)],
        "read_again": [{**run, "words": WORDS.get(run["became"], "")} for run in read_again],
        "readings": () if job.is_active else job.readings.all()[:SHOWN_READINGS],
        "kept_until": _kept_until(job),
    }


def _kept_until(job: ImportJob) -> datetime | None:
    """Until when its file rests here at most; None if it does not."""
    if not job.owns_kept_file or job.ended_at is None:
        return None
    return job.ended_at + timedelta(days=settings.ENV.UPLOAD_KEEP_DAYS)
