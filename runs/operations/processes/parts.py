"""The processes that work in the background, for a supervisor to fork.

Each takes one task after the other by itself (Celery's `solo` pool), so that there is nothing that
a process which is killed could keep from the others: no queue and no lock between them. Those that
only wait for models take several at a time, in threads.
"""

import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from django.conf import settings
from django.core.checks import run_checks
from django.db import close_old_connections, connections
from django.db.backends.signals import connection_created
from django.utils.module_loading import import_string
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]  # has no types

from runs.operations.health.checks import longest_wait_s
from runs.operations.health.probes import serve_counts
from runs.operations.processes.supervisor import Alive, SupervisedPart
from runs.operations.processes.worker_processes import (
    SignsOfLife,
    UnderWay,
    hold_rows_no_longer_than_a_lease,
    tell,
)
from runs.queue.sweeping import SWEEP_LIMIT_S, sweep
from runs.queue.workers import SWEEP

_OF_WORKERS = (
    "celery.app.amqp",
    "celery.app.control",
    "celery.app.events",
    "celery.app.log",
    "celery.backends.base",
    "celery.concurrency.solo",
    "celery.contrib.django.task",
    "celery.events",
    "celery.worker.autoscale",
    "celery.worker.components",
    "celery.worker.consumer.delayed_delivery",
    "celery.worker.control",
    "celery.worker.loops",
    "celery.worker.strategy",
)
"""What else each worker of Celery's would import for itself: 3 MB."""


def worker_parts(
    queues: Sequence[str], *, name: str = "", processes: int = 1, threads: int = 1
) -> list[SupervisedPart]:
    """Processes that serve these queues; one that sweeps if that is among them.

    Args:
        name: how their names begin; the names of the queues by default.
        processes: so many of them serve the queues.
        threads: each takes so many tasks at a time.
    """
    messages = [queue for queue in queues if queue != SWEEP]
    of_messages = name or "-".join(messages)
    parts = [
        _watched(f"{of_messages}-{number}", partial(_take_messages, messages, threads))
        for number in range(1, processes + 1)
        if messages
    ]
    if SWEEP in queues:
        parts.append(_watched(f"{name}-{SWEEP}" if name else SWEEP, _sweep_by_the_clock))
    return parts


def metrics_parts() -> list[SupervisedPart]:
    """One that answers for what all of them count, where a port is set for that."""
    port = settings.ENV.WORKER_METRICS_PORT
    return [] if port is None else [SupervisedPart("metrics", lambda _alive: serve_counts(port))]


def prepare_to_fork() -> None:
    """Import here what the parts would each import, and let go of what must not be forked."""
    app = import_module(settings.QUEUE_APP).app
    app.loader.import_default_modules()
    import_module(app.Worker.__module__)
    app.connection_for_write().get_transport_cls()
    for module in _OF_WORKERS:
        import_module(module)
    run_checks()  # it imports all addresses and their views
    # Every worker of Celery's would do it, too, and so make a copy of most that it shares.
    os.environ["CELERY_SKIP_CHECKS"] = "yes"
    connections.close_all()
    # In a container root is all there is; the browser is what meets strangers.
    warnings.filterwarnings("ignore", message="You're running the worker with superuser")


def _watched(name: str, work: Callable[[str, Alive], None]) -> SupervisedPart:
    return SupervisedPart(name, partial(work, name), silent_after_s=longest_wait_s())


def _take_messages(queues: Sequence[str], threads: int, name: str, alive: Alive) -> None:
    """A worker of Celery's, till it is told to stop."""
    tell(alive)
    app = import_module(settings.QUEUE_APP).app
    worker = app.Worker(
        hostname=f"{name}@{socket.gethostname()}",
        queues=queues,
        pool="threads" if threads > 1 else "solo",
        concurrency=threads,
        loglevel="WARNING",
        quiet=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    worker.start()
    sys.exit(worker.exitcode)


def _sweep_by_the_clock(name: str, alive: Alive) -> None:
    """Sweep again and again, however much waits for the workers, till it is told to stop."""
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    connection_created.connect(hold_rows_no_longer_than_a_lease)
    under_way = UnderWay(1)
    signs = SignsOfLife(f"{name}@{socket.gethostname()}", [SWEEP], under_way, alive)
    signs.start()
    while not stopped.is_set():
        begun = time.monotonic()
        with under_way.one("sweep", SWEEP_LIMIT_S):
            close_old_connections()
            sweep()
            close_old_connections()
        stopped.wait(max(begun + settings.ENV.SWEEP_INTERVAL_S - time.monotonic(), 0))
    signs.stop()


PROCESSES, THREADS = 2, 4
GRACE_S = 5


def web_part(host: str, port: int) -> SupervisedPart:
    """gunicorn on this address; its processes are forked from what the supervisor imported."""
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    application = import_string(settings.WSGI_APPLICATION)  # made once, and shared

    def serve(_alive: Alive) -> None:
        _Server(
            application,
            {
                "bind": address,
                "workers": PROCESSES,
                "threads": THREADS,
                "graceful_timeout": GRACE_S,
                "loglevel": "warning",
                "control_socket_disable": True,
            },
        ).run()

    return SupervisedPart("web", serve)


class _Server(BaseApplication):  # type: ignore[misc]  # it ships no types
    def __init__(self, application: Any, options: dict[str, Any]) -> None:
        self._application = application
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        return self._application
