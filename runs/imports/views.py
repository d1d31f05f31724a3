"""Importing by upload: the forms, the imports so far, the first look and the report of each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from runs.imports.reimporting import Became
from runs.imports.services import (
    GoneError,
    delete_file,
    discard_after_look,
    import_after_look,
    read_again,
    start_import,
)
from runs.interface.requests import AppRequest, needs, wants_partial
from runs.interface.sentences import labelled
from runs.models import ImportJob
from runs.models.imports import SentFile
from runs.storage.file_storage import StoreUnavailableError
from webagent.trajectory.reading import AUTO, READERS, format_names, without_formats

SHOWN, SHOWN_READINGS = 50, 20
may_import = needs("runs.import_run")

FORMAT_WORDS = {
    AUTO: gettext_lazy("Detect automatically"),
    "native": gettext_lazy("native"),
    "agentlab": "AgentLab, BrowserGym",
    "agentrewardbench": "AgentRewardBench",
    "browser_use": "browser-use",
    "online_mind2web": "Online-Mind2Web",
    "webarena": "WebArena",
    "webarena_verified": "WebArena-Verified",
    "playwright_trace": "Playwright",
    "atif": "ATIF",
    "inspect_ai": "Inspect AI",
    "computer_use": "computer use",
    "webvoyager": "WebVoyager",
    "wonderbread": "WonderBread",
}


def _formats() -> list[tuple[str, Any]]:
    return [(name, FORMAT_WORDS.get(name, name)) for name in format_names()]


class ImportForm(forms.Form):
    """A file, what is in it, and where its runs go."""

    file = forms.FileField(
        label=gettext_lazy("Zip, JSON or log file"),
        widget=forms.ClearableFileInput(attrs={"accept": ".zip,.json,.jsonl,.eval,.har"}),
    )
    format = forms.ChoiceField(label=gettext_lazy("Format"), choices=_formats, initial=AUTO)
    experiment_name = forms.CharField(
        label=gettext_lazy("experiment"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("Leave empty to use the name in the file."),
    )
    keeps_file = forms.BooleanField(
        label=gettext_lazy("Keep the file"), required=False, initial=True
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        words = _("Zip the whole folder, pictures included.")
        most = _("At most %(size)s.") % {
            "size": filesizeformat(settings.ENV.IMPORT_MAX_UPLOAD_BYTES)
        }
        self.fields["file"].help_text = f"{words} {most}"
        days = settings.ENV.UPLOAD_KEEP_DAYS
        if not days:
            del self.fields["keeps_file"]
            return
        self.fields["keeps_file"].help_text = _(
            "For %(days)s days, to read it again with better importers. Nobody can open "
            "it; secrets in it are kept too."
        ) % {"days": f"{days:g}"}


class AnswerForm(forms.Form):
    """What a first look asks, in the reader's language as far as its words are known there."""

    def __init__(self, questions: Sequence[Mapping[str, Any]], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for question in questions:
            none = ("", labelled(_("not set"), _(question["unanswered"])))
            choices = [(key, _(words)) for key, words in question["choices"].items()]
            self.fields[question["key"]] = forms.ChoiceField(
                label=_(question["text"]), choices=[none, *choices], required=False
            )

    @property
    def answers(self) -> dict[str, str]:
        """Key -> choice, of the questions that were answered."""
        return {key: choice for key, choice in self.cleaned_data.items() if choice}


WORDS: dict[str, Promise] = {
    Became.NEW: gettext_lazy("new"),
    Became.REPLACED: gettext_lazy("read better now: replaced"),
    Became.UNCHANGED: gettext_lazy("unchanged"),
    Became.KEPT: gettext_lazy("read differently now: kept as it is"),
    Became.DELETED: gettext_lazy("deleted since: left out"),
    Became.UNREADABLE: gettext_lazy("no longer readable: kept as it is"),
}


def import_row(job: ImportJob) -> dict[str, Any]:
    """An import in the table of all: its state by class and words, cells by heading."""
    counts = (job.report or {}).get("counts", {})
    done: int | str | None = None if job.is_active else job.n_done
    if job.is_active and job.n_total:
        done = _("%(n)s of %(total)s") % {"n": job.n_done, "total": job.n_total}
    cells: dict[str | Promise, object] = {
        _("runs"): done,
        _("Imported"): counts.get("imported"),
        _("already there"): counts.get("already_there"),
        _("Rejected"): counts.get("rejected"),
    }
    return {"sent": job, "state": _shown_state(job), "cells": cells}


def _shown_state(job: ImportJob) -> tuple[str, str | Promise]:
    if _got_nothing(job):
        return "failed", _("nothing to import")
    if not job.awaits_confirmation:
        return job.state, job.get_state_display()
    if (job.survey or {}).get("counts", {}).get("runs"):
        return "queued", _("awaits your decision")
    return "failed", _("nothing to import")


def _got_nothing(job: ImportJob) -> bool:
    """Whether it is through, and no run of its file is here."""
    counts = (job.report or {}).get("counts", {})
    is_through = job.state == job.State.FINISHED and not job.only_looks and not job.reads_again_id
    got_any = counts.get("imported") or counts.get("already_there")
    return is_through and bool(counts) and not got_any


def _shortly(refused: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was looked for the page lists by itself."""
    return [each | {"reason": without_formats(each["reason"])} for each in refused]


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
        "got_nothing": _got_nothing(job),
        "rejected": _shortly((job.report or {}).get("rejected", ())),
        "cannot": _shortly(job.survey.get("rejected", ())),
        "supported": [(FORMAT_WORDS.get(each.name, each.name), each.signs) for each in READERS],
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


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@may_import
def import_list(request: AppRequest) -> HttpResponse:
    """The form, and the person's imports, live; a sent file is imported in the background."""
    form = ImportForm(request.POST or None, request.FILES or None)
    start = partial(start_import, only_looks="look" in request.POST)
    page = "runs/imports/import_list.html"
    return list_page(request, page, form, start, map(import_row, _own_jobs(request)[:SHOWN]))


def list_page(
    request: AppRequest,
    page: str,
    form: forms.Form,
    start: Callable[..., SentFile],
    rows: Iterable[dict[str, Any]],
    **context: Any,
) -> HttpResponse:
    """A form that takes a file, and the files that the person sent, live.

    Args:
        start: keeps the file of a valid form, and gives its row.
        rows: as `_import_table.html` shows them; see `import_row`.
    """
    if request.method == "POST" and form.is_valid():
        try:
            return redirect(start(user=request.user, **form.cleaned_data))
        except StoreUnavailableError:
            messages.error(request, _("The file storage is temporarily unavailable"))
        except OSError:
            messages.error(request, _("The file cannot be kept: the disk is full or not writable."))
    rows = list(rows)
    context |= {"form": form, "rows": rows, "moves": any(row["sent"].is_active for row in rows)}
    name = "runs/imports/_import_table.html" if wants_partial(request) else page
    return render(request, name, context, status=422 if form.errors else 200)


@require_safe
@vary_on_headers("HX-Request")
@may_import
def import_detail(request: AppRequest, job_id: UUID) -> HttpResponse:
    """One import: how far it is, what a first look found, what became of every run."""
    job = get_object_or_404(_own_jobs(request), pk=job_id)
    form = AnswerForm(job.survey.get("questions", ()), initial=job.answers)
    return render(request, "runs/imports/import_detail.html", import_context(job, form))


@require_POST
@may_import
def import_decide(request: AppRequest, job_id: UUID) -> HttpResponse:
    """Import or discard a file that was looked at."""
    job = get_object_or_404(_own_jobs(request), pk=job_id)
    form = AnswerForm(job.survey.get("questions", ()), request.POST)
    if not form.is_valid():
        return render(
            request, "runs/imports/import_detail.html", import_context(job, form), status=422
        )
    try:
        if "discard" in request.POST:
            discard_after_look(job=job)
        else:
            import_after_look(job=job, answers=form.answers)
    except GoneError:
        messages.error(request, _("The file is no longer kept. Send it again."))
    return redirect("runs:import_detail", job.pk)


@require_POST
@may_import
def import_read_again(request: AppRequest, job_id: UUID) -> HttpResponse:
    """Have the kept file of an import read again: looked at first."""
    job = get_object_or_404(_own_jobs(request), pk=job_id)
    try:
        job = read_again(job=job, user=request.user)
    except (GoneError, StoreUnavailableError):
        messages.error(request, _("The file is no longer kept. Send it again."))
    return redirect("runs:import_detail", job.pk)


@require_POST
@may_import
def import_forget(request: AppRequest, job_id: UUID) -> HttpResponse:
    """Delete the kept file of an import."""
    job = get_object_or_404(_own_jobs(request), pk=job_id)
    try:
        delete_file(job=job)
    except GoneError:
        messages.error(request, _("The file is gone or being read."))
    else:
        messages.success(request, _("File deleted. Its runs stay."))
    return redirect("runs:import_detail", job.pk)


def _own_jobs(request: AppRequest) -> QuerySet[ImportJob]:
    return ImportJob.objects.filter(created_by=request.user).select_related("reads_again")
