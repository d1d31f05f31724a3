"""How gunicorn serves the site: `gunicorn webagent.wsgi --config python:webagent.web_server`.

Where and with how many processes and threads, the settings say.

Told to stop, it lets nobody in, and answers all who are in. The kernel takes connections before the
server does. Those that wait in its queue when the last process closes the socket are reset, and a
proxy may not send a form again that was on one. So connections are no longer begun, while processes
still take those that have been; then it stops.
"""

import ctypes
import os
import shutil
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from webagent.settings.environment import read_environment


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
    "formatters": {"json": {"()": "webagent.process.logs.JsonLineFormatter"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"level": "WARNING", "handlers": ["console"]},
    "loggers": {
        name: {"level": level, "handlers": ["console"], "propagate": False}
        for name, level in (("gunicorn.error", "INFO"), ("gunicorn.access", "WARNING"))
    },
}


TAKEN_WITHIN_S = 0.5
ATTACH_FILTER = getattr(socket, "SO_ATTACH_FILTER", 26)
# Linux's filter of packets, on a TCP header: code, jump if true, jump if false, operand.
DROP_FIRST_PACKETS = (
    (0x30, 0, 0, 13),  # the byte of flags
    (0x45, 0, 1, 0x02),  # SYN?
    (0x06, 0, 0, 0),  # then nothing of it is kept
    (0x06, 0, 0, 0xFFFFFFFF),  # else all
)


class Listener(Protocol):
    """gunicorn's own, which ships no types."""

    sock: socket.socket


class Server(Protocol):
    """The process of gunicorn that starts and stops the others."""

    LISTENERS: Iterable[Listener]
    stop: Callable[..., None]


def drain_before_stop(server: Server) -> None:
    """From now on the server takes who is waiting before it stops."""
    stop = server.stop

    def stop_when_drained(graceful: bool = True) -> None:
        if graceful:
            drained = [stop_accepting(listener.sock) for listener in server.LISTENERS]
            if any(drained):
                time.sleep(TAKEN_WITHIN_S)
        stop(graceful)

    server.stop = stop_when_drained


def stop_accepting(listener: socket.socket) -> bool:
    """Whether no connection is begun any more; those that were are still to be accepted.

    Who knocks gets no answer, and knocks again a second later: at whoever listens by then.
    """
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in DROP_FIRST_PACKETS)
    held = ctypes.create_string_buffer(code)
    program = struct.pack("HP", len(DROP_FIRST_PACKETS), ctypes.addressof(held))
    try:
        listener.setsockopt(socket.SOL_SOCKET, ATTACH_FILTER, program)
    except OSError:  # not on this system
        return False
    return True


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
