"""Importing labels, verdicts and adjudications made elsewhere: the form, the look, the report."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import filesizeformat
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from judging.models import LabelImport, Study
from judging.portability.judgements.rows import unreadable
from judging.portability.label_imports.services import (
    NEEDED,
    discard_after_look,
    start_look,
    store_after_look,
)
from judging.studies.access import AUDIT
from judging.studies.imported import NAME_CHARS, StudyNameError, check_study_name, imported_studies
from judging.studies.pages import MANAGE
from runs.imports.services import GoneError
from runs.imports.views import list_page
from runs.interface.requests import AppRequest, needs
from runs.models import User
from runs.models.parsing import read_number
from runs.storage.file_storage import StoreUnavailableError

_ALL, _LABEL, _VERDICT = (
    gettext_lazy("all rows"),
    gettext_lazy("labels"),
    gettext_lazy("verdicts of evaluators"),
)
COLUMNS = (
    (("run_id", "content_hash"), _ALL, gettext_lazy("identifies the run")),
    (
        ("task", "task_set", "agent", "model", "seed", "trial"),
        _ALL,
        gettext_lazy("identify the run without run_id and content_hash; task is required"),
    ),
    (
        ("kind",),
        _ALL,
        gettext_lazy("label, verdict or adjudication; leave empty to tell by the next two"),
    ),
    (("annotator",), _LABEL, gettext_lazy("name of the annotator; required")),
    (
        ("evaluator", "version"),
        _VERDICT,
        gettext_lazy("name (required) and version of the evaluator"),
    ),
    (
        ("verdict",),
        _ALL,
        gettext_lazy(
            "required. Labels: success, failure, unsure, not_executable; adjudications: "
            "all of these but unsure; evaluators: passed, failed, error, not_applicable"
        ),
    ),
    (("confidence",), _LABEL, gettext_lazy("0 to 100")),
    (
        ("causes", "failure_step"),
        _LABEL,
        gettext_lazy("words between semicolons; a step of the run, counted from 0"),
    ),
    (("by",), gettext_lazy("adjudications"), gettext_lazy("name of the adjudicator")),
    (("rationale", "at"), _ALL, gettext_lazy("text; the time as ISO 8601")),
)
"""Columns of the table that the form takes, in which rows they stand, and what they hold.

The usual ones; docs/judging.md has all.
"""


def label_import_row(sent: LabelImport) -> dict[str, Any]:
    """A file of labels in the table of all."""
    counts = sent.report.get("counts", {})
    cells: dict[str, object] = {
        capfirst(_("rows")): counts.get("rows"),
        _("new"): sent.n_new if counts and not counts["bad"] else None,
        _("Rejected"): counts.get("bad"),
    }
    return {"sent": sent, "state": _shown_state(sent), "cells": cells}


def _shown_state(sent: LabelImport) -> tuple[str, str]:
    if sent.awaits_confirmation:
        return "queued", _("awaits your decision")
    if sent.is_refused:
        return "failed", _("refused")
    if sent.state == sent.State.FINISHED and sent.only_looks:
        return "cancelled", _("nothing new")
    words = {sent.State.FINISHED: _("stored"), sent.State.CANCELLED: _("discarded")}
    return sent.state, words.get(sent.State(sent.state), sent.get_state_display())


def label_import_context(sent: LabelImport, user: User) -> dict[str, Any]:
    """The file with what was found in it, and where its rows went."""
    counts = sent.report.get("counts", {})
    study = Study.objects.filter(name=sent.study_name).first()
    is_here = study is not None and user.has_perm(MANAGE)
    return {
        "sent": sent,
        "report": sent.report,
        "counts": counts,
        "figures": _figures(counts) if counts and not counts["bad"] else (),
        "state": _shown_state(sent),
        "study": study if is_here else None,
        "sees_audit": user.has_perm(AUDIT),
    }


def _figures(counts: dict[str, int]) -> tuple[tuple[str, int], ...]:
    return (
        (_("labels of people"), counts["labels"]),
        (_("verdicts of evaluators"), counts["verdicts"]),
        (_("adjudications"), counts["adjudications"]),
        (_("already there"), counts["already_there"]),
        (_("runs named"), counts["runs"]),
        (_("of them without trajectory"), counts.get("stubs", 0)),
        (_("rows"), counts["rows"]),
    )


MOST_BYTES = 200 * 1024 * 1024
"""A row takes a few hundred bytes, so this is about a million of them."""
STUDIES = "imported-studies"
"""The list of names to pick from, in the page beside the form."""


class LabelImportForm(forms.Form):
    """A file, and the study that its labels belong to."""

    study = forms.CharField(
        label=gettext_lazy("study"),
        max_length=NAME_CHARS,
        widget=forms.TextInput(attrs={"list": STUDIES, "autocomplete": "off"}),
        help_text=gettext_lazy(
            "A new name makes a closed study, marked as imported; the name of "
            "an imported study adds to it. Studies that people work on here "
            "are never changed."
        ),
    )
    file = forms.FileField(
        label=gettext_lazy("CSV, TSV or JSON Lines file, or AgentRewardBench's annotations.csv"),
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.tsv,.txt,.jsonl,.ndjson,.json"}),
    )

    makes_stubs = forms.BooleanField(
        label=gettext_lazy("Import rows of runs that are not stored"),
        required=False,
        help_text=gettext_lazy(
            "Each such run is kept without its trajectory, under its task set, task and agent, and "
            "counts in agreement and audits. Importing its trajectory later makes it whole."
        ),
    )

    def __init__(self, *args: Any, user: User, **options: Any) -> None:
        super().__init__(*args, **options)
        self._user = user
        words = _("UTF-8, or the Unicode text of spreadsheets.")
        most = _("At most %(size)s.") % {"size": filesizeformat(MOST_BYTES)}
        self.fields["file"].help_text = f"{words} {most}"

    def clean_study(self) -> str:
        """A name to which labels may go."""
        name: str = self.cleaned_data["study"]
        try:
            check_study_name(name, self._user)
        except StudyNameError as error:
            raise forms.ValidationError(str(error)) from error
        return name

    def clean_file(self) -> UploadedFile[Any]:
        """A file that is not too large and begins like a table, as one can tell at once."""
        file: UploadedFile[Any] = self.cleaned_data["file"]
        size = file.size or 0
        if size > MOST_BYTES:
            raise forms.ValidationError(
                _("Too large: at most %(size)s.") % {"size": filesizeformat(MOST_BYTES)}
            )
        bad = unreadable(file)
        if bad:
            raise forms.ValidationError(
                _("Line %(line)s: %(reason)s.") % {"line": bad.line, "reason": bad.reason}
            )
        return file


SHOWN = 50
MOST_NAMES = 200
"""Studies to pick from by name."""
LOOKED_THROUGH = 1_000
"""Studies, the newest, among which those are looked for."""
may_import = needs(*NEEDED)


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@may_import
def label_import_list(request: AppRequest) -> HttpResponse:
    """The form, and the person's imports, live; a sent file is looked at in the background."""
    studies = imported_studies(request.user).order_by("-created_at")
    asked_for = read_number(request.GET.get("study", ""))
    chosen = studies.filter(pk=asked_for).first() if asked_for else None
    form = LabelImportForm(
        request.POST or None,
        request.FILES or None,
        user=request.user,
        initial={"study": chosen.name if chosen else ""},
    )
    return list_page(
        request,
        "judging/portability/label_import_list.html",
        form,
        start_look,
        map(label_import_row, _own(request)[:SHOWN]),
        columns=COLUMNS,
        studies_list=STUDIES,
        studies=_names(studies),
    )


@require_safe
@vary_on_headers("HX-Request")
@may_import
def label_import_detail(request: AppRequest, import_id: UUID) -> HttpResponse:
    """One file: what it would bring, which rows are bad, what became of it."""
    sent = get_object_or_404(_own(request), pk=import_id)
    context = label_import_context(sent, request.user)
    return render(request, "judging/portability/label_import_detail.html", context)


@require_POST
@may_import
def label_import_decide(request: AppRequest, import_id: UUID) -> HttpResponse:
    """Store or discard a file that was looked at; a second press changes nothing."""
    sent = get_object_or_404(_own(request), pk=import_id)
    try:
        if "discard" in request.POST:
            discard_after_look(sent=sent)
        else:
            store_after_look(sent=sent)
    except GoneError:
        messages.error(request, _("The file is no longer kept. Send it again."))
    except StoreUnavailableError:
        messages.error(request, _("The file storage is temporarily unavailable"))
    return redirect("judging:label_import_detail", sent.pk)


def _names(studies: QuerySet[Study]) -> list[str]:
    """To pick from: the imported ones among the newest studies."""
    newest = Study.objects.order_by("-created_at", "-pk").values_list("pk", flat=True)
    among_newest = studies.filter(pk__among=list(newest[:LOOKED_THROUGH]))
    return list(among_newest.values_list("name", flat=True)[:MOST_NAMES])


def _own(request: AppRequest) -> QuerySet[LabelImport]:
    return LabelImport.objects.filter(created_by=request.user)
