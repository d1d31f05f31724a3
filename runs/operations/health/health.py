"""Whether the site is well, for whoever watches over it."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from runs.operations.health.checks import (
    OK,
    check_database,
    check_storage,
    check_work,
    check_workers,
)


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
