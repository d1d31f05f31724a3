"""What workers count, told to whoever asks their supervisor's port."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.conf import settings

from runs.operations.health.exposition import CONTENT_TYPE, counts

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Scrapes are no news."""


def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """The counts of these processes, for whoever holds the token if there is one."""
    token = settings.ENV.METRICS_TOKEN
    given = str(environ.get("HTTP_AUTHORIZATION", ""))
    if token and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        start_response("404 Not Found", [])
        return []
    start_response("200 OK", [("Content-Type", CONTENT_TYPE)])
    return [counts()]


def serve_counts(port: int) -> None:
    """Answer on the port for what this program's processes count, till the process ends."""
    with make_server("0.0.0.0", port, answer, _Server, _Quiet) as server:  # noqa: S104 (scraped)
        server.serve_forever()
