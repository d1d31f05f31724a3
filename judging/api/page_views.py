"""The page that describes the API."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from judging.api.reference import operations_by_subject
from judging.api.version_1 import api
from runs.interface.fragments import AppRequest


@require_safe
def api_reference(request: AppRequest) -> HttpResponse:
    """Every operation, made of the description that programs read."""
    subjects = operations_by_subject(api.get_openapi_schema())
    return render(request, "judging/api/api_reference.html", {"subjects": subjects})
