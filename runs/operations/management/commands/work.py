"""The workers of some queues, kept running by one supervisor."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from runs.operations.databases import wait_for_database
from runs.operations.processes.parts import metrics_parts, prepare_to_fork, worker_parts
from runs.operations.processes.supervisor import Supervisor
from runs.queue.workers import BROWSER, all_duties

STOP_LIMIT_S = 110
"""A step, or a model's reply, may take a minute; a run that it breaks off costs an attempt."""


class Command(BaseCommand):
    help = "Carry out queued work; `sweep` recovers the work of dead workers."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("queues", nargs="+", choices=sorted(all_duties()))
        parser.add_argument("--processes", type=int, help="default 1, for browser BROWSERS")
        parser.add_argument("--threads", type=int, default=1, help="of each process")
        parser.add_argument("--name", default="", help="of the processes")

    def handle(self, *args: Any, **options: Any) -> None:
        queues, processes = options["queues"], options["processes"]
        if processes is None:
            processes = settings.BROWSERS if BROWSER in queues else 1
        wait_for_database(self._say)
        prepare_to_fork()
        parts = worker_parts(
            queues, name=options["name"], processes=processes, threads=options["threads"]
        )
        code = Supervisor(
            [*parts, *metrics_parts()], say=self._say, stop_limit_s=STOP_LIMIT_S
        ).run()
        if code:
            raise CommandError("The workers stopped: see above.", returncode=code)

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
