"""What breaks things, one fault at a time, each till the system has gone on from it."""

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from django.db import connection

from runs.models import ImportJob, Run, RunStatus
from tests.faults import waiting_suite
from tests.faults.history import Answer, Kind
from tests.faults.storm import Storm
from tests.faults.traffic import again
from tests.runs import live_workers
from tests.runs.live_workers import LEASE_S, Site, pid_of_owner, wait_until

Nemesis = Callable[[Storm], int]
"""Causes faults in the storm and waits till they are over; returns how many."""

AT_ONCE = 3
DOWN_S = 2.0


def under_way(storm: Storm) -> list[Run]:
    """Runs that have taken a step, and may be tried once more."""
    return again(
        lambda: list(
            Run.objects.filter(
                task__external_id=waiting_suite.TASK,
                status=RunStatus.RUNNING,
                n_steps__gte=1,
                attempt__lt=3,
            )
        )
    )


def _wait_for_runs(storm: Storm) -> list[Run]:
    found: list[Run] = wait_until(lambda: under_way(storm), what="a run under way")
    return found


def _goes_on(run_id: UUID) -> Callable[[], bool]:
    """Whether the next attempt at the run has begun."""
    return lambda: Run.objects.filter(retry_of=run_id).exclude(started_at=None).exists()


def _keep_in_mind(storm: Storm, runs: list[Run]) -> None:
    """Steps that are stored were promised to stay."""
    for run in runs:
        for index in range(run.n_steps):
            call = storm.history.ask("engine", Kind.ADD, f"step {run.pk} {index}", "stored")
            storm.history.answer(call, Answer.DONE)


def kill_children(storm: Storm) -> int:
    """kill -9 to a few processes that carry out runs, at a random moment."""
    time.sleep(random.uniform(0, 1))
    victims = _wait_for_runs(storm)[:AT_ONCE]
    _keep_in_mind(storm, victims)
    for run in victims:
        with suppress(ProcessLookupError):
            os.kill(pid_of_owner(run), signal.SIGKILL)
    lost = [run for run in victims if not _had_ended(run)]
    storm.recover(*[_goes_on(run.pk) for run in lost], limit_s=LEASE_S + 30)
    return len(victims)


def _had_ended(run: Run) -> bool:
    """Whether the run had ended before its process was killed."""
    time.sleep(0.1)
    return again(lambda: Run.objects.get(pk=run.pk).status in RunStatus.ended())


def kill_worker(storm: Storm) -> int:
    """kill -9 to a whole worker, whatever its processes are at; a supervisor starts another."""
    time.sleep(random.uniform(0, 1.5))
    if random.random() < 0.5:
        storm.other_worker.kill_all()
        killed_at = time.monotonic()
        storm.start_other_worker()
        storm.recover(*again(_work_goes_on), since=killed_at)
        return 1
    victims = _wait_for_runs(storm)
    _keep_in_mind(storm, victims)
    storm.worker.kill_all()
    killed_at = time.monotonic()
    lost = [run for run in victims if not _had_ended(run)]
    storm.start_worker()
    # The promise counts from when there is a worker again.
    started_s = time.monotonic() - killed_at
    recovered = [_goes_on(run.pk) for run in lost]
    storm.recover(*recovered, limit_s=started_s + LEASE_S + 30, since=killed_at)
    return 1


def kill_web(storm: Storm) -> int:
    """kill -9 to a process that answers requests, every fifth time to all of them."""
    time.sleep(random.uniform(0.2, 1.2))
    if random.random() < 0.2:
        storm.web.kill()
        storm.web.start()
    else:
        storm.web.kill_child()
    killed_at = time.monotonic()
    storm.recover(lambda: storm.traffic.last_done > killed_at)
    return 1


def empty_broker(storm: Storm) -> int:
    """All messages are forgotten, as by FLUSHALL."""
    time.sleep(random.uniform(0.5, 2))
    storm.site.empty_broker()
    storm.recover(*again(_work_goes_on))
    return 1


def kill_broker(storm: Storm) -> int:
    """kill -9 to Redis, which keeps nothing; it is back after two seconds."""
    assert storm.redis is not None
    time.sleep(random.uniform(0.5, 2))
    storm.redis.kill()
    killed_at = time.monotonic()
    time.sleep(DOWN_S)
    storm.findings.more["times that an upload was accepted meanwhile"] += (
        storm.traffic.last_done > killed_at
    )
    storm.redis.start()
    storm.recover(*again(_work_goes_on), since=killed_at)
    return 1


def fill_broker(storm: Storm) -> int:
    """Redis has no room for anything new for two seconds: it refuses, and throws nothing away."""
    assert storm.redis is not None
    time.sleep(random.uniform(0.5, 2))
    with storm.redis.full():
        filled_at = time.monotonic()
        time.sleep(DOWN_S)
        storm.findings.more["times that an upload was accepted meanwhile"] += (
            storm.traffic.last_done > filled_at
        )
    storm.recover(*again(_work_goes_on), since=filled_at)
    return 1


def _work_goes_on() -> tuple[Callable[[], bool], Callable[[], bool]]:
    """Whether another run begins, and another import ends, counted since no clock may be right."""
    begun, ended = Run.objects.exclude(started_at=None), ImportJob.objects.exclude(ended_at=None)
    n_begun, n_ended = begun.count(), ended.count()
    return (lambda: begun.count() > n_begun, lambda: ended.count() > n_ended)


def restart_database(storm: Storm) -> int:
    """PostgreSQL stops as if the power failed, and is started at once."""
    assert storm.postgresql is not None
    time.sleep(random.uniform(1, 3))
    storm.postgresql.stop_immediately()
    stopped_at = time.monotonic()
    storm.postgresql.start()
    storm.recover(
        lambda: storm.traffic.last_done > stopped_at, *again(_work_goes_on)[:1], since=stopped_at
    )
    return 1


def freeze(storm: Storm) -> int:
    """SIGSTOP to processes that carry out runs till others have their work, then SIGCONT.

    Half of them at most: nothing takes the place of a frozen one, and others must be left that can.
    """
    victims = _wait_for_runs(storm)[: min(AT_ONCE, storm.concurrency // 2)]
    for run in victims:
        live_workers.freeze(pid_of_owner(run))
    frozen = [run for run in victims if not _had_ended(run)]
    try:
        storm.recover(*[_goes_on(run.pk) for run in frozen], limit_s=LEASE_S + 30)
        # Whoever nobody took over from has lost nothing, and may go on.
        before = {run.pk: _all_of(run.pk) for run in frozen if _goes_on(run.pk)()}
    finally:
        for run in victims:
            with suppress(ProcessLookupError):
                os.kill(pid_of_owner(run), signal.SIGCONT)
    time.sleep(2)
    for run_id, rows in before.items():
        if _all_of(run_id) != rows:
            storm.findings.complain([f"run {run_id} was written to by a process that had lost it"])
    return len(victims)


def _all_of(run_id: UUID) -> list[object]:
    """The run and its steps, as rows."""
    run = Run.objects.get(pk=run_id)
    return [Run.objects.filter(pk=run_id).values().get(), *run.steps.order_by("index").values()]


def tell_ten_times(storm: Storm) -> int:
    """Every message that there may be work is sent ten times."""
    storm.site.tell(10)
    for job in ImportJob.objects.filter(ended_at=None):
        for _ in range(10):
            storm.site.broker.send_task("runs.tasks.import_upload", (str(job.pk),), queue="default")
    time.sleep(random.uniform(0.2, 0.6))
    return 10


def step_clock(storm: Storm) -> int:
    """The clocks of web and workers, not that of the database, jump ten minutes to and fro."""
    time.sleep(random.uniform(1, 2))
    file = clock_of(storm.site)
    file.write_text("-600\n" if file.read_text().startswith("+") else "+600\n")
    stepped_at = time.monotonic()
    storm.recover(lambda: storm.traffic.last_done > stepped_at, *again(_work_goes_on))
    return 1


def clock_of(site: Site) -> Path:
    """The file from which programs read how many seconds their clocks are ahead; see `clock.c`."""
    return site.data_dir / "clock"


def processes_left(storm: Storm) -> int:
    """How many processes of the site are there though all were stopped."""
    mark = f"DATA_DIR={storm.site.data_dir}".encode()
    found = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found += mark in (folder / "environ").read_bytes()
    return found


def cut_connections(storm: Storm) -> int:
    """Every connection of others to the database is ended, in the middle of what they write."""
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid()"
    with connection.cursor() as cursor:
        cursor.execute(f"{cut} AND datname = current_database()")
    cut_at = time.monotonic()
    storm.recover(lambda: storm.traffic.last_done > cut_at)
    return 1
