"""Answers with reports and pictures as files."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.http import Http404, HttpResponse

from judging.analysis.reports.registry import F, Registry
from judging.analysis.reports.report import Report
from judging.analysis.reports.writing import FORMATS
from judging.models import StudyItem
from judging.studies.access import record_unblindings
from runs.interface.fragments import AppRequest


def attached(content: str, content_type: str, name: str) -> HttpResponse:
    """A file to keep."""
    response = HttpResponse(content, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def as_file(report: Report, ending: str) -> HttpResponse:
    """The report as a file."""
    written = FORMATS[ending]
    return attached(written.write(report), written.content_type, f"{report.name}.{ending}")


def as_picture(picture: str, name: str) -> HttpResponse:
    return attached(picture, "image/svg+xml", f"{name}.svg")


def check_address(ending: str, name: str = "", registry: Registry[F] | None = None) -> None:
    """Raises Http404 where there is no such format, or no such report."""
    if ending not in FORMATS or (registry is not None and name not in registry):
        raise Http404


def record_reading(request: AppRequest, run_ids: Iterable[UUID], reason: str) -> None:
    """Note that the person has read judgements of these runs, as in the lists of an audit."""
    items = StudyItem.objects.filter(run__in=run_ids)
    record_unblindings(user=request.user, items=items, reason=reason)
