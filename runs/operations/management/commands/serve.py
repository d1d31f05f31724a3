"""The whole site by one command: web server, workers and sweep, started and stopped together."""

import errno
import fcntl
import http.client
import os
import shlex
import signal
import socket
import sys
import time
from argparse import ArgumentParser
from multiprocessing import get_context
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from runs.operations.databases import wait_for_database
from runs.operations.processes.parts import metrics_parts, prepare_to_fork, web_part, worker_parts
from runs.operations.processes.supervisor import Supervisor
from runs.queue.workers import BROWSER, JUDGE, SWEEP, all_queues
from runs.storage.static_files import collect_static_files
from webagent.process.children import end_with_parent

HEALTH_EVERY_S = 0.5


class Command(BaseCommand):
    help = "Serve the site with its workers until Ctrl-C or TERM."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default=settings.ENV.HOST)
        parser.add_argument("--port", type=int, default=settings.ENV.PORT)
        parser.add_argument(
            "--browsers", type=int, default=settings.BROWSERS, help="runs at a time"
        )
        parser.add_argument(
            "--first",
            metavar="COMMAND",
            help="a command to run on the migrated database before serving, with its options",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        host, port = options["host"], options["port"]
        _demand_free_port(host, port)
        wait_for_database(self._say)
        call_command("migrate", interactive=False, verbosity=0)
        if options["first"]:
            _run_apart(options["first"])
        collect_static_files()
        prepare_to_fork()
        announcement = _Announcement(host, port, self._say)
        # Runs take minutes and judges hours; workers apart keep imports and verdicts going
        # meanwhile.
        others = sorted(all_queues() - {BROWSER, JUDGE})
        parts = [
            web_part(host, port),
            # Two, so that verdicts need not wait until a large import is through.
            *worker_parts([*others, SWEEP], processes=2),
            *worker_parts([BROWSER], processes=options["browsers"]),
            # Judges wait for models and need no processor: threads do.
            *worker_parts([JUDGE], threads=2),
            *metrics_parts(),
        ]
        code = Supervisor(parts, say=self._say, look=announcement.look).run()
        if code:
            raise CommandError("Crosscheck stopped: see above.", returncode=code)

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _run_apart(command: str) -> None:
    """Run a command in a process of its own, so that no other inherits the memory that it took.

    Raises:
        CommandError: it failed, and has said why.
    """

    parent = os.getpid()

    def call() -> None:
        end_with_parent(parent, signal.SIGTERM)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the first process tells of a Ctrl-C
        try:
            call_command(*shlex.split(command))
        except CommandError as error:
            sys.exit(str(error))

    connections.close_all()
    process = get_context("fork").Process(target=call)
    process.start()
    process.join()
    if process.exitcode:
        raise CommandError(f"{command} failed: see above.")


class _Announcement:
    """Says once that the site is well, by asking it like anybody else."""

    def __init__(self, host: str, port: int, say: Any) -> None:
        self._host = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host  # noqa: S104 (not bound)
        self._port = port
        self._say = say
        self._next = 0.0
        self._is_made = False

    def look(self) -> None:
        """Ask, unless it was said already or asked a moment ago."""
        if self._is_made or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + HEALTH_EVERY_S
        if self._is_well():
            self._is_made = True
            self._say(f"Crosscheck is ready: http://{self._host}:{self._port}  (Ctrl-C stops it)")

    def _is_well(self) -> bool:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=2)
        try:
            # A name that every setting of ALLOWED_HOSTS for local use has.
            connection.request("GET", "/healthz", headers={"Host": "localhost"})
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def _demand_free_port(host: str, port: int) -> None:
    """Also refused is who comes while another has yet to listen: it has the lock till it ends.

    A lock of POSIX, which no part inherits that outlives this process.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            lock = os.open(settings.QUEUE_DIR / f"port-{port}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            probe.bind((host, port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EAGAIN):
                raise CommandError(
                    f"Port {port} is in use, perhaps by another Crosscheck. "
                    "Stop that one, or choose another port: PORT=8001 make run"
                ) from None
            raise CommandError(f"Cannot listen on {host}:{port}: {error.strerror}") from None
