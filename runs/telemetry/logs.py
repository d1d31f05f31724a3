"""Log lines of requests and tasks carry the id of the request and its person."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from celery.signals import before_task_publish, task_postrun, task_prerun
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from runs.telemetry import counters
from runs.telemetry.actors import client_address, request_id
from webagent.logs import PROBE_PATHS, facts_now, logged_with

GetResponse = Callable[[HttpRequest], HttpResponse]
METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
access = logging.getLogger("access")


class RequestLogMiddleware:
    """Has the lines of a request say whose they are, and writes one when it is answered.

    Addresses are logged without what follows the question mark, which may be a search.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with logged_with(request_id=request_id(), user_id=lambda: _user_id(request)):
            begun = time.monotonic()
            response = self.get_response(request)
            seconds = time.monotonic() - begun
            _count(request, response, seconds)
            is_quiet = request.path in PROBE_PATHS or request.path.startswith(settings.STATIC_URL)
            if not is_quiet or response.status_code >= 500:
                access.info("request", extra=_facts(request, response, seconds))
        return response


def _count(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    found = request.resolver_match
    view = (found.view_name if found else "") or "none"
    method = request.method if request.method in METHODS else "other"
    counters.requests.labels(view, method, str(response.status_code)).inc()
    counters.request_seconds.labels(view).observe(seconds)


def _user_id(request: HttpRequest) -> int | None:
    """Who it is, if that was looked up: a log line asks the database nothing."""
    user = getattr(request, "_cached_user", None)
    return user.pk if user is not None else None


def _facts(request: HttpRequest, response: HttpResponse, seconds: float) -> dict[str, object]:
    found = request.resolver_match
    facts: dict[str, object] = {
        "method": request.method,
        "path": request.path,
        "view": found.view_name if found else None,
        "status": response.status_code,
        "ms": round(1000 * seconds, 1),
        "bytes": None if response.streaming else len(response.content),
        "client": client_address(request),
    }
    if found and "run_id" in found.kwargs:
        facts["run_id"] = str(found.kwargs["run_id"])
    return facts


REQUEST_ID = "request_id"
_under_way: dict[str, AbstractContextManager[None]] = {}


@before_task_publish.connect
def _send_request_along(headers: dict[str, Any] | None = None, **_: Any) -> None:
    request_id = facts_now().get(REQUEST_ID)
    if headers is not None and request_id:
        headers[REQUEST_ID] = request_id


@task_prerun.connect
def _begin(task_id: str, task: Any, **_: Any) -> None:
    known = logged_with(task_id=task_id, task=task.name, request_id=task.request.get(REQUEST_ID))
    known.__enter__()
    _under_way[task_id] = known


@task_postrun.connect
def _end(task_id: str, **_: Any) -> None:
    """After Celery's own line about a failure."""
    if known := _under_way.pop(task_id, None):
        known.__exit__(None, None, None)
