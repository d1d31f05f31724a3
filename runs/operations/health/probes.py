"""Probes for machines: liveness, readiness, health, and metrics of this program and the site.

Machines call by address, not by name, so probes answer before host names are checked; and before
sessions are read, since that needs the database, which may be away. See
`runs.operations.middleware.ProbeMiddleware`.

How the site stands is asked of database and broker, and alike for every web process. Each query is
answered by a small index or counts few rows; nothing counts all runs, and nothing tells what
anybody judged.
"""

import hmac
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import ip_address, ip_network
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from wsgiref.types import StartResponse, WSGIEnvironment

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, Max, Min
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from runs.accounts.actors import client_address
from runs.models import LeasedWork, Run, RunStatus, WorkerBeat
from runs.operations.health.checks import (
    OK,
    broker,
    check_database,
    check_storage,
    check_work,
    check_workers,
    examiner,
)
from runs.queue.jobs import kinds_of_work
from runs.queue.workers import all_duties, all_queues, beat_ages
from webagent.process.counters import FOLDER

logger = logging.getLogger(__name__)


def may_watch(request: HttpRequest) -> bool:
    """Whether the request holds the token of the settings, or comes from a network named there.

    Where neither is set nobody may.
    """
    return _holds_token(request.headers.get("Authorization", "")) or _comes_from_within(request)


def _comes_from_within(request: HttpRequest) -> bool:
    direct = request.META.get("REMOTE_ADDR")  # past the proxy
    address = client_address(request) if "X-Forwarded-For" in request.headers else direct
    if not address:
        return False
    return any(ip_address(address) in ip_network(name) for name in settings.ENV.METRICS_NETWORKS)


def _holds_token(given: str) -> bool:
    """Whether a request's authorization is the token of the settings; none is where none is set."""
    token = settings.ENV.METRICS_TOKEN
    return bool(token) and hmac.compare_digest(given.encode(), f"Bearer {token}".encode())


@require_safe
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 when database, worker and storage are well, else 503; the JSON says which is not.

    Workers are well when they live, and take what waits for them.
    """
    workers = check_workers()
    found = {
        "database": check_database(),
        "worker": check_work() if workers == OK else workers,
        "storage": check_storage(),
    }
    well = all(word == OK for word in found.values())
    return JsonResponse({"status": OK if well else "failing"} | found, status=200 if well else 503)


@require_safe
@never_cache
def livez(request: HttpRequest) -> HttpResponse:
    """200 while the process answers at all; nothing else is looked at."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when pages are served and queued work is carried out, else 503.

    What is wrong is told to whoever may watch.
    """
    readiness = examiner.look()
    answer: dict[str, object] = {"status": readiness.status}
    if may_watch(request):
        answer |= {"checks": readiness.found}
        if readiness.found["database"] == "ok":
            answer["seconds_since_beat"] = beat_ages()
    return JsonResponse(answer, status=200 if readiness.is_ready else 503)


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """What this program counted and how the whole site stands; for others there is no such page."""
    if not may_watch(request):
        return HttpResponse(status=404)
    return HttpResponse(counts() + generate_latest(_site), content_type=CONTENT_TYPE_LATEST)


PROBES: Mapping[str, Callable[[HttpRequest], HttpResponse]] = {
    "/livez": livez,
    "/readyz": readyz,
    "/healthz": healthz,
    "/metrics": metrics,
}

KEPT_S = 15.0


class SiteGauges(Collector):
    """Asked at every scrape; an answer stands for a while, however often it is asked for."""

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


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Scrapes are no news."""


def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """The counts of these processes, for whoever holds the token if there is one."""
    given = str(environ.get("HTTP_AUTHORIZATION", ""))
    if settings.ENV.METRICS_TOKEN and not _holds_token(given):
        start_response("404 Not Found", [])
        return []
    start_response("200 OK", [("Content-Type", CONTENT_TYPE_LATEST)])
    return [counts()]


def serve_counts(port: int) -> None:
    """Answer on the port for what this program's processes count, till the process ends."""
    with make_server("0.0.0.0", port, answer, _Server, _Quiet) as server:  # noqa: S104 (scraped)
        server.serve_forever()
