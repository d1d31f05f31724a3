"""How full the store is."""

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from runs.interface.fragments import AppRequest
from runs.models import SpaceMeasurement
from runs.operations.space.pages import SpacePage
from runs.operations.space.tasks import ask_for_measurement, measure_when_due

may_manage = permission_required("runs.manage_space", raise_exception=True)


@require_safe
@may_manage
def space(request: AppRequest) -> HttpResponse:
    """What was last measured: by kind, by experiment, by day, and the largest runs."""
    measured = SpaceMeasurement.objects.exclude(figures={}).first()
    if measured is None:
        measure_when_due()
    page = SpacePage(measured, request.user) if measured else None
    return render(request, "runs/operations/space.html", {"page": page})


@require_POST
@may_manage
def space_measure(request: AppRequest) -> HttpResponse:
    """Have it measured again, in the background."""
    ask_for_measurement()
    messages.info(request, _("It is being measured. Load this page again in a while."))
    return redirect("runs:space")
