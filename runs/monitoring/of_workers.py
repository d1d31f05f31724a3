"""What a worker says of itself when it starts: what it counts, and what it should worry about."""

from __future__ import annotations

import hmac
import logging
import threading
from collections.abc import Iterable
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from celery.signals import worker_ready
from django.conf import settings

from runs.monitoring.checks import warn_of_eviction
from runs.monitoring.exposition import CONTENT_TYPE, counts

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

logger = logging.getLogger(__name__)


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Scrapes are no news."""


def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """The counts of this worker and its children, for whoever holds the token if there is one."""
    token = settings.ENV.METRICS_TOKEN
    given = str(environ.get("HTTP_AUTHORIZATION", ""))
    if token and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        start_response("404 Not Found", [])
        return []
    start_response("200 OK", [("Content-Type", CONTENT_TYPE)])
    return [counts()]


@worker_ready.connect
def _begin(**_: Any) -> None:
    warn_of_eviction()
    port = settings.ENV.WORKER_METRICS_PORT
    if port is None:
        return
    try:
        server = make_server("0.0.0.0", port, answer, _Server, _Quiet)  # noqa: S104 (to be scraped)
    except OSError:
        logger.exception("Nobody can ask this worker for its metrics.")
        return
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
