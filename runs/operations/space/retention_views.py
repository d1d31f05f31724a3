"""An experiment's quotas and rules, and archiving, restoring and deleting its runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import Min, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from runs.interface.requests import AppRequest
from runs.models import Attachment, Blob, Experiment, Run, Step
from runs.operations.blob_checks import references
from runs.operations.space.retention import (
    archive_runs,
    delete_archived,
    kept_by,
    restore_runs,
    set_limits,
    unkept,
)
from runs.operations.space.views import may_manage
from runs.storage.usage import blobs_of_runs, bytes_of
from webagent.measures import batched

GB = 10**9


class LimitsForm(forms.Form):
    """Quotas and the rule of an experiment; an empty field is no limit."""

    max_runs = forms.IntegerField(
        label=_("Maximum number of runs"), required=False, min_value=0, max_value=10**9
    )
    max_gb = forms.FloatField(
        label=_("Maximum size of files, GB"),
        required=False,
        min_value=0,
        max_value=10**6,
        help_text=_("Imports, pushed runs and reruns above it are refused."),
    )
    keep_days = forms.IntegerField(
        label=_("Days to keep runs"),
        required=False,
        min_value=1,
        max_value=100_000,
        help_text=_("Then archived automatically, and deleted later."),
    )

    @classmethod
    def of(cls, experiment: Experiment) -> LimitsForm:
        """The form as the experiment is now."""
        size = experiment.max_bytes
        return cls(
            initial={
                "max_runs": experiment.max_runs,
                "max_gb": None if size is None else size / GB,
                "keep_days": experiment.keep_days,
            }
        )

    @property
    def limits(self) -> dict[str, Any]:
        """What `set_limits` takes."""
        size = self.cleaned_data["max_gb"]
        return {
            "max_runs": self.cleaned_data["max_runs"],
            "max_bytes": None if size is None else int(size * GB),
            "keep_days": self.cleaned_data["keep_days"],
        }


class DeletionForm(forms.Form):
    """Why runs go, and the name of their experiment once more."""

    reason = forms.CharField(label=_("reason"), max_length=200)
    name = forms.CharField(label=_("Type the experiment's name to confirm"), max_length=200)

    def __init__(self, *args: Any, experiment: Experiment, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.experiment = experiment

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name.strip() != self.experiment.name.strip():
            raise forms.ValidationError(_("The name does not match."))
        return name


EXACTLY = 500
"""Runs up to which it is worked out what their files share with others."""
BLOBS_AT_ONCE = 500


def preview(experiment: Experiment, now: datetime) -> dict[str, Any]:
    """Of the experiment's runs: which could go, which are archived, what keeps the others.

    Of those that are archived, when the first may be deleted, and how many may be by now.
    """
    runs = Run.objects.filter(experiment=experiment)
    here = runs.filter(archived_at=None)
    away = unkept(runs.filter(archived_at__isnull=False))
    grace = timedelta(days=settings.ENV.ARCHIVE_GRACE_DAYS)
    since = away.aggregate(at=Min("archived_at"))["at"]
    return {
        "here": _going(unkept(here)),
        "away": _going(away),
        "kept": kept_by(runs),
        "first_due": since + grace if since else None,
        "due": away.filter(archived_at__lte=now - grace).count(),
    }


def _going(runs: QuerySet[Run]) -> dict[str, int | None]:
    """How many, and what their files take; what no other run has is worked out for few alone."""
    n_runs = runs.count()
    return {
        "runs": n_runs,
        "steps": runs.aggregate(n=Coalesce(Sum("n_steps"), 0))["n"],
        "size": bytes_of(runs),
        "freed": freed_bytes(runs) if n_runs <= EXACTLY else None,
    }


def freed_bytes(runs: QuerySet[Run]) -> int:
    """Bytes of the files that no other run refers to."""
    ids = list(runs.order_by().values_list("pk", flat=True))
    parts = batched(sorted(blobs_of_runs(ids)), BLOBS_AT_ONCE)
    return sum(_freed(hashes, ids) for hashes in parts)


def _freed(hashes: Sequence[str], ids: Sequence[UUID]) -> int:
    own = set(hashes)
    for model, name in references():
        if model is Blob:
            continue
        rows = model._default_manager.filter(**{f"{name}__in": list(own)})
        if model in (Step, Attachment):
            rows = rows.exclude(run__among=ids)
        own -= set(rows.order_by().values_list(f"{name}_id", flat=True).distinct())
    of_blobs = Coalesce("stored_size", "size")
    pictures = Blob.objects.filter(pk__in=own)
    small = Blob.objects.filter(pk__in=pictures.values("thumbnail"))
    total: int = pictures.aggregate(n=Coalesce(Sum(of_blobs), 0))["n"]
    return total + int(small.aggregate(n=Coalesce(Sum(of_blobs), 0))["n"])


AT_ONCE = 1000
"""Runs that a person has deleted with one click; the page says how many are left."""


@require_safe
@may_manage
def retention(request: AppRequest, experiment_id: int) -> HttpResponse:
    """What of the experiment could go, what could not and why, and its limits."""
    experiment = _experiment(request, experiment_id)
    return _page(
        request, experiment, LimitsForm.of(experiment), DeletionForm(experiment=experiment)
    )


@require_POST
@may_manage
def retention_limits(request: AppRequest, experiment_id: int) -> HttpResponse:
    """Change quotas and rule."""
    experiment = _experiment(request, experiment_id)
    form = LimitsForm(request.POST)
    if not form.is_valid():
        return _page(request, experiment, form, DeletionForm(experiment=experiment))
    set_limits(experiment=experiment, **form.limits)
    return redirect("runs:retention", experiment.pk)


@require_POST
@may_manage
def retention_archive(request: AppRequest, experiment_id: int) -> HttpResponse:
    """Archive all its runs that nothing keeps."""
    experiment = _experiment(request, experiment_id)
    n = archive_runs(runs=Run.objects.filter(experiment=experiment), why=experiment.name)
    words = ngettext("%(n)d run was archived.", "%(n)d runs were archived.", n)
    return _done(request, experiment, words % {"n": n})


@require_POST
@may_manage
def retention_restore(request: AppRequest, experiment_id: int) -> HttpResponse:
    """Take all back that was archived."""
    experiment = _experiment(request, experiment_id)
    n = restore_runs(runs=Run.objects.filter(experiment=experiment), why=experiment.name)
    words = ngettext("%(n)d run was restored.", "%(n)d runs were restored.", n)
    return _done(request, experiment, words % {"n": n})


@require_POST
@may_manage
def retention_delete(request: AppRequest, experiment_id: int) -> HttpResponse:
    """Delete what was archived for the grace period, as much as one can wait for."""
    experiment = _experiment(request, experiment_id)
    form = DeletionForm(request.POST, experiment=experiment)
    if not form.is_valid():
        return _page(request, experiment, LimitsForm.of(experiment), form)
    gone = delete_archived(
        runs=Run.objects.filter(experiment=experiment),
        reason=form.cleaned_data["reason"],
        user=request.user,
        at_most=AT_ONCE,
    )
    words = ngettext("%(n)d run was deleted.", "%(n)d runs were deleted.", len(gone))
    return _done(request, experiment, words % {"n": len(gone)})


def _page(
    request: AppRequest, experiment: Experiment, limits: LimitsForm, deletion: DeletionForm
) -> HttpResponse:
    context: dict[str, Any] = {
        "experiment": experiment,
        "preview": preview(experiment, timezone.now()),
        "limits": limits,
        "deletion": deletion,
    }
    status = 422 if limits.errors or deletion.errors else 200
    return render(request, "runs/operations/retention.html", context, status=status)


def _experiment(request: AppRequest, experiment_id: int) -> Experiment:
    return get_object_or_404(Experiment.objects.visible_to(request.user), pk=experiment_id)


def _done(request: AppRequest, experiment: Experiment, words: str) -> HttpResponse:
    messages.success(request, words)
    return redirect("runs:retention", experiment.pk)
