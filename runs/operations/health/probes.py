"""What machines ask: does the process live, is it ready, is all well, how much is there.

They call it by an address instead of its name, so these answer before names of hosts are looked
at; and before sessions are, since a browser's cookie sends whoever comes with it to the database,
which may be what is away. See `runs.operations.requests.middleware.ProbeMiddleware`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from runs.operations.health.access import may_watch
from runs.operations.health.exposition import CONTENT_TYPE, exposition
from runs.operations.health.health import healthz
from runs.operations.health.readiness import examiner
from runs.queue.workers import beat_ages


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
    return HttpResponse(exposition(), content_type=CONTENT_TYPE)


PROBES: Mapping[str, Callable[[HttpRequest], HttpResponse]] = {
    "/livez": livez,
    "/readyz": readyz,
    "/healthz": healthz,
    "/metrics": metrics,
}
