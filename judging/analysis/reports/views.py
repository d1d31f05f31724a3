"""Answers with reports as files."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse

from judging.analysis.reports.registry import Registry
from judging.analysis.reports.report import Report
from judging.analysis.reports.writing import FORMATS


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


def check_address(ending: str, name: str = "", registry: Registry[Any] | None = None) -> None:
    """Raises Http404 where there is no such format, or no such report."""
    if ending not in FORMATS or (registry is not None and name not in registry):
        raise Http404
