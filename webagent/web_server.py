"""How gunicorn serves the site: `gunicorn webagent.wsgi --config python:webagent.web_server`.

Where and with how many processes and threads, the settings say.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any, Protocol

from webagent.settings.environment import read_environment
from webagent.web_draining import Server, drain_before_stop


class Worker(Protocol):
    """A process of gunicorn, which ships no types."""

    pid: int


COUNTS = "PROMETHEUS_MULTIPROC_DIR"
IN_MEMORY = "/dev/shm"  # noqa: S108 (only a mark of life is kept there)

ENV = read_environment()
bind = f"[{ENV.HOST}]:{ENV.PORT}" if ":" in ENV.HOST else f"{ENV.HOST}:{ENV.PORT}"
workers = ENV.WEB_PROCESSES
threads = ENV.WEB_THREADS
worker_class = "gthread"
# Longer than the proxy keeps a connection that it may send its next request on.
keepalive = 75
# At the end what has begun is answered; the proxy waits no longer than that either.
graceful_timeout = 30
timeout = 60
control_socket_disable = True
worker_tmp_dir = IN_MEMORY if os.path.isdir(IN_MEMORY) else None
# Requests are logged by the site itself, with their ids.
accesslog = None
logconfig_dict: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "webagent.logs.JsonLineFormatter"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"level": "WARNING", "handlers": ["console"]},
    "loggers": {
        name: {"level": level, "handlers": ["console"], "propagate": False}
        for name, level in (("gunicorn.error", "INFO"), ("gunicorn.access", "WARNING"))
    },
}


def on_starting(server: object) -> None:
    """Before the first process: a folder in which all of them count together."""
    os.environ[COUNTS] = tempfile.mkdtemp(prefix="crosscheck-metrics-")


def when_ready(server: Server) -> None:
    """It listens: from here on it may be told to stop."""
    drain_before_stop(server)


def child_exit(server: object, worker: Worker) -> None:
    """What a dead process counted stays; what it only showed while it lived goes."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]


def on_exit(server: object) -> None:
    """With the last process."""
    shutil.rmtree(os.environ.pop(COUNTS, ""), ignore_errors=True)
