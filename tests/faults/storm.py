"""One site on which things break while people work on it, and the look at it afterwards."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import InterfaceError, OperationalError, connection, connections
from django.db.models import F
from django.test import override_settings

from judging.models import EvaluationBatch, Label
from runs.models import Blob, ImportJob, Run, Step
from runs.operations.blob_checks import BlobReport, delete_orphans, find_orphans
from tests.faults import waiting_suite
from tests.faults.aftermath import store_of, what_is_wrong
from tests.faults.findings import Findings
from tests.faults.history import Afterwards, History, Rules
from tests.faults.services import PostgreSQL, Redis
from tests.faults.traffic import Traffic, again
from tests.faults.web import Web
from tests.runs.live_workers import Site, Worker, wait_until
from webagent.environment.registry import register_suite

LOOK_EVERY_S = 0.2
REST_WITHIN_S = 240
PROMISED_S = 90
RULES = Rules(
    successors={
        "run queued": frozenset({"run leased", "run cancelled"}),
        "run leased": frozenset({"run running", "run queued", "run failed"}),
        "run running": frozenset({"run finished", "run failed", "run cancelled"}),
        "work queued": frozenset({"work running"}),
        "work running": frozenset({"work queued", "work finished", "work failed"}),
    },
    ends=frozenset({"run finished", "run failed", "run cancelled", "work finished", "work failed"}),
)


@dataclass
class Storm:
    """A site with its processes, what breaks them, and what they are seen doing meanwhile."""

    site: Site
    findings: Findings
    redis: Redis | None = None
    postgresql: PostgreSQL | None = None
    concurrency: int = 4
    history: History = field(default_factory=History)
    _running: ExitStack = field(default_factory=ExitStack)
    _over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        register_suite("waiting", "tests.faults.waiting_suite")
        self.site.environment["DJANGO_SETTINGS_MODULE"] = "tests.faults.settings"
        self.web = Web(self.site)
        self.traffic = Traffic(self.web.port, self.history)

    @contextmanager
    def at_work(
        self, *, labellers: int = 0, uploaders: int = 0, runs: bool = False
    ) -> Iterator[None]:
        """People at work till the block ends; then all comes to rest and is looked at."""
        watcher = threading.Thread(target=self._watch, daemon=True)
        try:
            if labellers or uploaders:
                self.web.start()
            if uploaders or runs:
                self.start_other_worker()
            if runs:
                self.start_worker()
            if labellers or uploaders:
                self.web.wait()
            self.traffic.start(labellers=labellers, uploaders=uploaders, runs=runs)
            watcher.start()
            yield
            self.traffic.stop()
            self._come_to_rest()
        finally:
            self.traffic.stop()
            self.findings.more.update(self.traffic.replies)
            self._over.set()
            if watcher.is_alive():
                watcher.join(30)
            self._running.close()
            self.web.kill()
        self._look()

    def start_worker(self) -> None:
        """One that carries out runs, as many at a time as `concurrency` says."""
        self.worker: Worker = self._running.enter_context(
            self.site.worker(processes=self.concurrency, queues="browser")
        )

    def start_other_worker(self) -> None:
        """One for imports and verdicts, with the sweep."""
        self.other_worker: Worker = self._running.enter_context(
            self.site.worker(processes=2, queues="default,judge,sweep")
        )

    def recover(
        self,
        *recovered: Callable[[], bool],
        limit_s: float = PROMISED_S,
        since: float | None = None,
    ) -> None:
        """Wait till all of these are so, noting how long each took; too late is a finding.

        Args:
            since: when the fault was caused, by the clock that never steps; None: just now.
        """
        started = time.monotonic() if since is None else since
        waiting = list(recovered)
        while waiting and time.monotonic() - started < limit_s:
            left = [is_so for is_so in waiting if not again(is_so)]
            took = time.monotonic() - started
            self.findings.recoveries_s += [took] * (len(waiting) - len(left))
            waiting = left
            time.sleep(0.05)
        self.findings.complain([f"nothing went on within {limit_s:.0f} s"] * len(waiting))

    def _watch(self) -> None:
        """See the states of everything that must end, again and again."""
        try:
            while not self._over.wait(LOOK_EVERY_S):
                try:
                    for key, state in _states().items():
                        self.history.see(key, state)
                except (OperationalError, InterfaceError):
                    connections["default"].close()
        finally:
            connections["default"].close()

    def _come_to_rest(self) -> None:
        if hasattr(self, "other_worker"):
            try:
                wait_until(lambda: again(all_ended), REST_WITHIN_S, "the end of all work")
            except AssertionError as error:
                left = Counter(state for state in _states().values() if state not in RULES.ends)
                raise AssertionError(f"{error}: {dict(left)}") from None

    def _look(self) -> None:
        """Compare what was promised with what is there, and look through everything."""
        self.findings.complain(self.traffic.complaints)
        with override_settings(STORAGES=store_of(self.site.data_dir)):
            swept, left = BlobReport(), BlobReport()
            find_orphans(swept)
            delete_orphans(swept, grace=timedelta(0))
            find_orphans(left)
        named = frozenset(Blob.objects.values_list("pk", flat=True))
        stored = named | frozenset(left.orphan_files)
        self.findings.more["files of killed processes, swept"] += swept.n_deleted
        self.after = Afterwards(self._values(), _states(), named, stored)
        self.findings.compare(self.history, self.after, RULES)
        self.findings.complain(what_is_wrong(self.site.data_dir))
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                for pragma in ("integrity_check", "foreign_key_check"):
                    rows = cursor.execute(f"PRAGMA {pragma}").fetchall()
                    self.findings.complain(str(row) for row in rows if row != ("ok",))

    def _values(self) -> dict[str, list[str]]:
        """What is stored of what people sent and runs did, by the keys in the history."""
        values = _sent_by_people()
        asked = {call.key for call in self.history.calls}
        steps = Step.objects.filter(run__task__external_id=waiting_suite.TASK)
        for run_id, index in steps.values_list("run_id", "index"):
            if (key := f"step {run_id} {index}") in asked:
                values.setdefault(key, []).append("stored")
        return values


def _sent_by_people() -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    labels = Label.objects.filter(item__assignments__user=F("annotator")).values_list(
        "item__assignments__pk", "rationale"
    )
    for place, said in labels:
        if said:
            values.setdefault(f"label of place {place}", []).append(said)
    for name in ImportJob.objects.values_list("file_name", flat=True):
        values.setdefault(f"upload {name}", []).append(name)
    return values


def _states() -> dict[str, str]:
    """The state of everything that comes to an end by itself."""
    ours = Run.objects.filter(task__external_id=waiting_suite.TASK).values_list("pk", "status")
    states = {f"run {pk}": f"run {status}" for pk, status in ours}
    for kind in (ImportJob, EvaluationBatch):
        rows = kind.objects.values_list("pk", "state")
        states |= {f"{kind.__name__} {pk}": f"work {state}" for pk, state in rows}
    return states


def all_ended() -> bool:
    """Whether everything that comes to an end by itself has come to it."""
    return all(state in RULES.ends for state in _states().values())
