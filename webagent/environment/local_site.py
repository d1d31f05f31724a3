"""Serve a folder of pages to the browser, on this machine only."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from os import PathLike
from pathlib import Path


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base's name)
        """Say nothing: a run has its own record."""

    def guess_type(self, path: str | PathLike[str]) -> str:
        """The type with its letters said: browsers take a page that says nothing for Latin."""
        found = super().guess_type(path)
        return f"{found}; charset=utf-8" if found.startswith("text/") else found


class LocalSite:
    """A running server for one folder, on a port that was free."""

    def __init__(self, directory: Path) -> None:
        handler = partial(_QuietHandler, directory=str(directory))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        host, port = self._server.server_address[:2]
        return f"{host!s}:{port}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
