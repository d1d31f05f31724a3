"""What of the infrastructure failed, and how the sites are now."""

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.catalogue.sites import last_known, site_states
from runs.interface.fragments import AppRequest
from runs.launching.reruns.views import may_rerun
from runs.models import Run
from runs.models.visibility import visibility_of
from runs.operations.health.infrastructure import error_rates

MOST_ATTEMPTS = 10_000
"""The newest attempts, which rates are taken of."""


@require_safe
@may_rerun
def infrastructure(request: AppRequest) -> HttpResponse:
    """Rates of infrastructure errors, over the runs of which the person may know all."""
    runs = Run.objects.visible_with(visibility_of(request.user)).not_blind().not_anonymous()
    newest = runs.attempts().order_by("-created_at", "-pk").values("pk")[:MOST_ATTEMPTS]
    context = {
        "rates": error_rates(Run.objects.filter(pk__in=newest)),
        "most": MOST_ATTEMPTS,
        "asks_sites": bool(settings.SITE_HOSTS),
        "sites": last_known(),
    }
    return render(request, "runs/operations/infrastructure.html", context)


@require_safe
@may_rerun
def infrastructure_sites(request: AppRequest) -> HttpResponse:
    """The configured sites as they are now, as a fragment; takes as long as they take to answer."""
    return render(request, "runs/operations/_sites.html", {"sites": site_states()})
