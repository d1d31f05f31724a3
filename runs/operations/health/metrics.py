"""How the site stands, asked of the database and the broker: the same from every web process.

Each query is answered by a small index or counts few rows; nothing counts all runs, and nothing
tells what anybody judged. An answer stands for a while, however often it is asked for.
"""

from __future__ import annotations

import hmac
import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, Max, Min
from django.db.models.functions import Now
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from runs.models import LeasedWork, Run, RunStatus, WorkerBeat
from runs.operations.health.checks import OK, broker, examiner
from runs.queue.jobs import kinds_of_work
from runs.queue.workers import all_duties, all_queues, beat_ages
from webagent.process.counters import FOLDER

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

logger = logging.getLogger(__name__)

KEPT_S = 15.0


class SiteGauges(Collector):
    """Asked at every scrape; answers from memory most of the time."""

    def __init__(self, kept_s: float = KEPT_S) -> None:
        self._kept_s = kept_s
        self._lock = threading.Lock()
        self._last: list[Metric] = []
        self._until = 0.0

    def describe(self) -> Iterable[Metric]:
        """Nothing is asked when this is registered."""
        return []

    def collect(self) -> Iterable[Metric]:
        with self._lock:
            if time.monotonic() >= self._until:
                self._last = list(_all())
                self._until = time.monotonic() + self._kept_s
            return self._last


def _all() -> Iterator[Metric]:
    ready = {name: float(word == OK) for name, word in examiner.look().found.items()}
    yield _gauge("ready", "1 where the check is well.", ready, "check")
    for part in (_runs, _leased_work, _workers, _messages, _size):
        try:
            yield from part()
        except (DatabaseError, OSError):
            logger.warning("A part of the metrics is missing.", exc_info=True)
            connection.close()


def _runs() -> Iterator[Metric]:
    """By the index over what has not ended."""
    active = Run.objects.filter(status__in=RunStatus.active())
    counts = dict.fromkeys(RunStatus.active(), 0)
    counts |= dict(active.order_by().values_list("status").annotate(n=Count("pk")))
    yield _gauge("active_runs", "Runs that have not ended.", counts, "status")
    late = {"run": Run.objects.expired().count()}
    late |= {_name(kind): kind.objects.abandoned().count() for kind in kinds_of_work()}
    yield _gauge("expired_leases", "Work whose worker gave no sign of life in time.", late, "kind")
    waiting = Run.objects.filter(status=RunStatus.QUEUED)
    oldest = _age(waiting.aggregate(at=Min("queued_at"), now=Max(Now())))
    yield _gauge("oldest_run_seconds", "Since when the run waits that waits longest.", oldest)


def _leased_work() -> Iterator[Metric]:
    counts: dict[tuple[str, ...], int] = {}
    oldest: dict[str, float] = {}
    for model in kinds_of_work():
        kind, active = _name(model), model.objects.active().order_by()
        counted = dict(active.values_list("state").annotate(n=Count("pk")))
        for state in (LeasedWork.State.QUEUED, LeasedWork.State.RUNNING):
            counts[kind, state] = counted.get(state, 0)
        queued = active.filter(state=LeasedWork.State.QUEUED)
        oldest[kind] = _age(queued.aggregate(at=Min("created_at"), now=Max(Now())))
    yield _gauge("work", "Imports, batches and learning jobs.", counts, "kind", "state")
    yield _gauge("oldest_work_seconds", "Since when the oldest one waits.", oldest, "kind")


def _workers() -> Iterator[Metric]:
    ages = {queue: float("inf") if s is None else s for queue, s in beat_ages().items()}
    yield _gauge("worker_beat_age_seconds", "Since the last sign of life.", ages, "queue")
    known: dict[str, int] = dict.fromkeys(all_duties(), 0)
    for queues, n in WorkerBeat.objects.values_list("queues", "slots"):
        for queue in queues:
            known[queue] = known.get(queue, 0) + n
    slots = dict(sorted(known.items()))
    yield _gauge("worker_slots", "Tasks at a time of all workers known.", slots, "queue")


def _messages() -> Iterator[Metric]:
    waiting = _messages_by_queue()
    yield _gauge("broker_messages", "Messages that no worker has taken yet.", waiting, "queue")


def _messages_by_queue() -> Mapping[str, int]:
    queues = sorted(all_queues())
    if settings.ENV.REDIS_URL:
        with broker() as server:
            return {queue: int(server.llen(queue)) for queue in queues}
    names = [path.name for path in (settings.QUEUE_DIR / "messages").glob("*.msg")]
    return {queue: sum(name.endswith(f".{queue}.msg") for name in names) for queue in queues}


def _size() -> Iterator[Metric]:
    """PostgreSQL's own estimates: counting the rows would read them all."""
    if connection.vendor != "postgresql":
        return
    names = ["runs_run", "runs_step", "runs_blob", "judging_evaluation", "judging_label"]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, greatest(reltuples, 0) FROM pg_class WHERE relname = ANY(%s)", [names]
        )
        rows = dict(cursor.fetchall())
        cursor.execute("SELECT pg_database_size(current_database())")
        bytes_used = cursor.fetchone()[0]
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        connections = cursor.fetchone()[0]
    yield _gauge("rows", "Rows of the large tables, as the database estimates.", rows, "table")
    yield _gauge("database_bytes", "What the database takes on its disk.", bytes_used)
    yield _gauge("database_connections", "Connections to the database.", connections)


def _age(found: Mapping[str, Any]) -> float:
    at, now = found["at"], found["now"]
    return 0.0 if at is None else max((now - at).total_seconds(), 0.0)


def _name(kind: type[LeasedWork]) -> str:
    return kind._meta.model_name or ""


def _gauge(
    name: str, words: str, found: float | Mapping[Any, float], *labels: str
) -> GaugeMetricFamily:
    """A metric of one value; or of a value for each label, or for each tuple of several."""
    gauge = GaugeMetricFamily(f"crosscheck_{name}", words, labels=labels)
    values = found if isinstance(found, Mapping) else {(): found}
    for key, value in values.items():
        gauge.add_metric([key] if isinstance(key, str) else key, value)
    return gauge


_site = CollectorRegistry()
_site.register(SiteGauges())


def counts() -> bytes:
    """What this program has counted, all its processes together."""
    if FOLDER not in os.environ:
        return generate_latest(REGISTRY)
    together = CollectorRegistry()
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]  # has no types
    return generate_latest(together)


def exposition() -> bytes:
    """What this program has counted, and how the whole site stands."""
    return counts() + generate_latest(_site)


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Scrapes are no news."""


def holds_token(given: str) -> bool:
    """Whether a request's authorization is the token of the settings; none is where none is set."""
    token = settings.ENV.METRICS_TOKEN
    return bool(token) and hmac.compare_digest(given.encode(), f"Bearer {token}".encode())


def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """The counts of these processes, for whoever holds the token if there is one."""
    given = str(environ.get("HTTP_AUTHORIZATION", ""))
    if settings.ENV.METRICS_TOKEN and not holds_token(given):
        start_response("404 Not Found", [])
        return []
    start_response("200 OK", [("Content-Type", CONTENT_TYPE_LATEST)])
    return [counts()]


def serve_counts(port: int) -> None:
    """Answer on the port for what this program's processes count, till the process ends."""
    with make_server("0.0.0.0", port, answer, _Server, _Quiet) as server:  # noqa: S104 (scraped)
        server.serve_forever()
