"""The web server as one of the processes of a supervisor."""

from __future__ import annotations

from typing import Any

from django.core.wsgi import get_wsgi_application
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]

from runs.operations.processes.supervisor import Alive, Part

PROCESSES, THREADS = 2, 4
GRACE_S = 5


def web_part(host: str, port: int) -> Part:
    """gunicorn on this address; its processes are forked from what the supervisor imported."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def serve(_alive: Alive) -> None:
        _Server(
            {
                "bind": address,
                "workers": PROCESSES,
                "threads": THREADS,
                "graceful_timeout": GRACE_S,
                "loglevel": "warning",
                "control_socket_disable": True,
            }
        ).run()

    return Part("web", serve)


class _Server(BaseApplication):  # type: ignore[misc]  # it ships no types
    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        return get_wsgi_application()
