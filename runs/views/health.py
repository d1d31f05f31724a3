"""Whether the site is well, for whoever watches over it."""

import logging
import secrets
from collections.abc import Callable

from django.contrib.auth.decorators import login_not_required
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from runs.storage import UNFINISHED
from runs.workers import unserved_queues

logger = logging.getLogger(__name__)

OK = "ok"


@login_not_required
@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 when database, worker and storage are well, else 503; the JSON says which is not."""
    checks: dict[str, Callable[[], str]] = {
        "database": check_database,
        "worker": check_worker,
        "storage": check_storage,
    }
    found = {name: check() for name, check in checks.items()}
    well = all(word == OK for word in found.values())
    return JsonResponse({"status": OK if well else "failing"} | found, status=200 if well else 503)


def check_database() -> str:
    """ "ok", or what is wrong with the database."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        logger.exception("The database does not answer.")
        return "does not answer"
    return OK


def check_worker() -> str:
    """ "ok", or what is wrong with the workers."""
    try:
        unserved = unserved_queues()
    except DatabaseError:
        return "unknown without a database"
    names = ", ".join(sorted(unserved))
    return f"no worker gives a sign of life for: {names}" if unserved else OK


def check_storage() -> str:
    """ "ok", or what is wrong with the blob store: a file is written, read and deleted."""
    content = secrets.token_bytes(32)
    # Named as an unfinished file, so that one left by a crash is cleaned up as such.
    name = f"probe/{content.hex()[:16]}{UNFINISHED}"
    try:
        name = default_storage.save(name, ContentFile(content))
        with default_storage.open(name) as file:
            same = file.read() == content
        default_storage.delete(name)
    except Exception:  # noqa: BLE001 (every storage has exceptions of its own)
        logger.exception("The blob store cannot be used.")
        return "cannot be written or read"
    return OK if same else "gives back other bytes than it was given"
