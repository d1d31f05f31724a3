"""Probes for machines: liveness, readiness, health, metrics.

Machines call by address, not by name, so probes answer before host names are checked; and before
sessions are read, since that needs the database, which may be away. See
`runs.operations.middleware.ProbeMiddleware`.
"""

from collections.abc import Callable, Mapping
from ipaddress import ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from runs.accounts.actors import client_address
from runs.operations.health.checks import (
    OK,
    check_database,
    check_storage,
    check_work,
    check_workers,
    examiner,
)
from runs.operations.health.metrics import exposition, holds_token
from runs.queue.workers import beat_ages


def may_watch(request: HttpRequest) -> bool:
    """Whether the request holds the token of the settings, or comes from a network named there.

    Where neither is set nobody may.
    """
    return holds_token(request.headers.get("Authorization", "")) or _comes_from_within(request)


def _comes_from_within(request: HttpRequest) -> bool:
    if "X-Forwarded-For" in request.headers:
        address = client_address(request)
    else:
        address = request.META.get("REMOTE_ADDR")  # called directly, past the proxy
    if not address:
        return False
    return any(ip_address(address) in ip_network(name) for name in settings.ENV.METRICS_NETWORKS)


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 when database, worker and storage are well, else 503; the JSON says which is not.

    Workers are well when they live, and take what waits for them.
    """
    workers = check_workers()
    found = {
        "database": check_database(),
        "worker": check_work() if workers == OK else workers,
        "storage": check_storage(),
    }
    well = all(word == OK for word in found.values())
    return JsonResponse({"status": OK if well else "failing"} | found, status=200 if well else 503)


@require_safe
@never_cache
def livez(request: HttpRequest) -> HttpResponse:
    """200 while the process answers at all; nothing else is looked at."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when pages are served and queued work is carried out, else 503.

    What is wrong is told to whoever may watch.
    """
    readiness = examiner.look()
    answer: dict[str, object] = {"status": readiness.status}
    if may_watch(request):
        answer |= {"checks": readiness.found}
        if readiness.found["database"] == "ok":
            answer["seconds_since_beat"] = beat_ages()
    return JsonResponse(answer, status=200 if readiness.is_ready else 503)


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Everything that is counted, in Prometheus' words; for others there is no such page."""
    if not may_watch(request):
        return HttpResponse(status=404)
    return HttpResponse(exposition(), content_type=CONTENT_TYPE_LATEST)


PROBES: Mapping[str, Callable[[HttpRequest], HttpResponse]] = {
    "/livez": livez,
    "/readyz": readyz,
    "/healthz": healthz,
    "/metrics": metrics,
}
