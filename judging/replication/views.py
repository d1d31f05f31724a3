"""Pages of replications: those that there are, one with its progress and tables, and its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Count, Q
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from judging.analysis.experiments.access import PERMISSIONS
from judging.analysis.reports.registry import as_file, attached, html_tables
from judging.analysis.reports.writing import FORMATS
from judging.models import EvaluationBatch, Replication, StudyItem
from judging.replication.reports import ReplicationFacts
from judging.replication.services import take_up
from judging.replication.sources import Kind, Sources, shown_to
from judging.replication.study_file import LARGEST_FILE, is_readable
from judging.replication.study_parts import StudyFileError
from judging.replication.work import go_on
from judging.studies.access import EVALUATE
from runs.interface.paging import BoundedPaginator
from runs.interface.requests import AppRequest, demand, needs, wants_partial
from runs.launching.experiments.progress import progress_of_each

PER_PAGE = 50
MAY_RUN = (*PERMISSIONS, "runs.rerun_run", "judging.add_study", EVALUATE)
"""Permissions to start a replication: it launches runs, makes studies and evaluates."""
P = ParamSpec("P")
View = Callable[..., HttpResponseBase]


class StudyFileForm(forms.Form):
    """A study file to take up."""

    file = forms.FileField(
        label=gettext_lazy("Study file"),
        help_text=gettext_lazy("TOML; docs/replicating.md says what it may hold."),
        widget=forms.ClearableFileInput(attrs={"accept": ".toml"}),
    )

    def clean_file(self) -> UploadedFile[Any]:
        file: UploadedFile[Any] = self.cleaned_data["file"]
        if file.size is None or file.size > LARGEST_FILE:
            most = filesizeformat(LARGEST_FILE)
            raise forms.ValidationError(_("Too large: at most %(size)s.") % {"size": most})
        return file


def for_readers(
    view: Callable[Concatenate[AppRequest, ReplicationFacts, P], HttpResponseBase],
) -> View:
    """Lets in who may read figures of experiments and audits, to what they may know of this one."""

    @wraps(view)
    def guarded(
        request: AppRequest, replication_id: int, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        demand(request.user, *PERMISSIONS)
        facts = ReplicationFacts(_shown(request, replication_id), request.user)
        try:
            facts.check_file()
        except StudyFileError as error:
            known = {"replication": facts.replication, "error": error}
            page = "judging/replication/replication_unreadable.html"
            return render(request, page, known, status=422)
        return view(request, facts, *args, **kwargs)

    return guarded


def _shown(request: AppRequest, replication_id: int) -> Replication:
    """Raises Http404."""
    return get_object_or_404(shown_to(request.user), pk=replication_id)


@require_http_methods(["GET", "HEAD", "POST"])
@needs(*PERMISSIONS)
def replication_list(request: AppRequest) -> HttpResponse:
    """All replications, the newest first, and the form that takes a study file up."""
    form = StudyFileForm()
    if request.method == "POST":
        form = StudyFileForm(request.POST, request.FILES)
        if made := _taken_up(request, form):
            return redirect("judging:replication_detail", made.pk)
    rows = shown_to(request.user).select_related("created_by").order_by("-created_at", "-pk")
    page = BoundedPaginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "unreadable": {row.pk for row in page.object_list if not is_readable(row.content)},
        "form": form,
        "may_run": request.user.has_perms(MAY_RUN),
    }
    return render(request, "judging/replication/replication_list.html", context)


def _taken_up(request: AppRequest, form: StudyFileForm) -> Any:
    """The replication of a good file; None where the form says what is wrong."""
    demand(request.user, *MAY_RUN)
    if form.is_valid():
        file = form.cleaned_data["file"]
        try:
            return take_up(content=file.read(), file_name=file.name, user=request.user)
        except StudyFileError as error:
            form.add_error("file", str(error))
    return None


@require_safe
@for_readers
def replication_detail(request: AppRequest, facts: ReplicationFacts) -> HttpResponse:
    """What is replicated and how far it is; tables are fetched after the page."""
    return _page(request, "replication_detail", facts, parts=_progress_of(facts))


@require_safe
@vary_on_headers("HX-Request")
@for_readers
def replication_progress(request: AppRequest, facts: ReplicationFacts) -> HttpResponse:
    """How far each part is, for a page that asks again."""
    return _page(request, "_replication_progress", facts, parts=_progress_of(facts))


@require_safe
@vary_on_headers("HX-Request")
@for_readers
def replication_part(request: AppRequest, facts: ReplicationFacts, name: str) -> HttpResponse:
    """One of the tables, by itself or on a page of its own for browsers without scripts."""
    if name not in facts.registry:
        raise Http404
    report = facts.report(name)
    template = "_replication_part" if wants_partial(request) else "replication_part"
    return _page(
        request,
        template,
        facts,
        name=name,
        title=facts.registry.names[name],
        report=report,
        tables=html_tables(report),
        plain=True,
    )


@require_safe
@for_readers
def replication_table(
    request: AppRequest, facts: ReplicationFacts, name: str, ending: str
) -> HttpResponse:
    """One of the tables as a file."""
    if name not in facts.registry or ending not in FORMATS:
        raise Http404
    return as_file(facts.report(name), ending)


@require_safe
@for_readers
def replication_report(request: AppRequest, facts: ReplicationFacts, ending: str) -> HttpResponse:
    """All of them as one document."""
    if ending not in FORMATS or ending == "csv":
        raise Http404
    content_type = FORMATS[ending].content_type
    return attached(facts.document(ending), content_type, f"replication.{ending}")


@require_safe
@needs(*PERMISSIONS)
def replication_file(request: AppRequest, replication_id: int) -> HttpResponse:
    """The study file as it was taken up, whether it can be read here or not."""
    content = _shown(request, replication_id).content
    return attached(content, "application/toml", "study.toml")


@require_POST
@needs(*MAY_RUN)
@for_readers
def replication_run(request: AppRequest, facts: ReplicationFacts) -> HttpResponse:
    """Start what can be started, and what has stopped again; the sweep goes on from there."""
    replication = facts.replication
    go_on(replication, is_resumed=replication.started_at is not None)
    replication.refresh_from_db()
    if replication.problem:
        messages.error(request, replication.problem)
    else:
        messages.success(request, _("Started."))
    return redirect("judging:replication_detail", replication.pk)


def _page(
    request: AppRequest, template: str, facts: ReplicationFacts, **more: object
) -> HttpResponse:
    known = {
        "replication": facts.replication,
        "file": facts.file,
        "facts": facts,
        "may_run": request.user.has_perms(MAY_RUN),
    }
    return render(request, f"judging/replication/{template}.html", known | more)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartProgress:
    """How far one part is; `total` is None where that is not known."""

    kind: str
    name: str
    url: str
    state: str
    """A word that style sheets know."""
    words: str
    done: int
    total: int | None = None
    note: str = ""


def _progress_of(sources: Sources) -> list[PartProgress]:
    """Of every part that was begun. A constant number of queries for each kind."""
    return [
        *_progress_of_experiments(sources),
        *_progress_of_learning(sources),
        *_progress_of_judging(sources),
    ]


def _progress_of_experiments(sources: Sources) -> list[PartProgress]:
    if sources.user is None:
        return []
    return [
        PartProgress(
            kind=str(Kind.EXPERIMENT.label),
            name=each.experiment.name,
            url=reverse("judging:experiment_detail", args=[each.experiment.pk]),
            state=each.state,
            words=each.state_words,
            done=each.done + each.cancelled,
            total=each.total,
        )
        for each in progress_of_each(sources.experiments, sources.user)
    ]


def _progress_of_learning(sources: Sources) -> list[PartProgress]:
    return [
        PartProgress(
            kind=str(Kind.LEARNING.label),
            name=part.key,
            url=part.job.get_absolute_url(),
            state=part.job.state,
            words=part.job.get_state_display(),
            done=part.job.n_done,
            total=part.job.n_total,
            note=part.job.problem,
        )
        for part in sources.parts
        if part.job
    ]


def _progress_of_judging(sources: Sources) -> Iterator[PartProgress]:
    """Settled runs of each study; of one in which the reader judges, only that it is there."""
    studies = [row for row in sources.studies.values() if row.pk not in sources.hidden_studies]
    settled = Q(status=StudyItem.Status.SETTLED)
    rows = StudyItem.objects.filter(study__in=studies).order_by().values("study")
    counts = {
        row["study"]: (row["done"], row["total"])
        for row in rows.annotate(total=Count("pk"), done=Count("pk", filter=settled))
    }
    batches = EvaluationBatch.objects.active().filter(study__in=studies)
    evaluated = set(batches.values_list("study", flat=True))
    for key, study in sources.studies.items():
        done, total = counts.get(study.pk, (0, 0))
        is_hidden = study.pk in sources.hidden_studies
        is_active = study.pk in evaluated
        words = _("still judged by you") if is_hidden else _("settled runs")
        yield PartProgress(
            kind=str(Kind.JUDGING.label),
            name=study.name or key,
            url=reverse("judging:study_detail", args=[study.pk]),
            state="running" if is_active else "finished" if done == total else "waiting",
            words=_("is being evaluated") if is_active else words,
            done=done,
            total=None if is_hidden else total,
        )
