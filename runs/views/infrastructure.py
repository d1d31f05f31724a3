"""What of the infrastructure failed, and how the sites are now."""

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.infrastructure import error_rates
from runs.models import Run
from runs.sites import last_known, site_states
from runs.views.fragments import AppRequest
from runs.views.reruns import may_rerun


@require_safe
@may_rerun
def infrastructure(request: AppRequest) -> HttpResponse:
    """Rates of infrastructure errors, over the runs of which the person may know all."""
    runs = Run.objects.shown_to(request.user).not_blind().not_anonymous()
    context = {
        "rates": error_rates(runs),
        "asks_sites": bool(settings.SITE_HOSTS),
        "sites": last_known(),
    }
    return render(request, "runs/infrastructure.html", context)


@require_safe
@may_rerun
def infrastructure_sites(request: AppRequest) -> HttpResponse:
    """The configured sites as they are now, as a fragment; takes as long as they take to answer."""
    return render(request, "runs/_sites.html", {"sites": site_states()})
