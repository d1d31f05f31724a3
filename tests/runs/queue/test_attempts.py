"""What becomes of runs whose worker died, and of runs that broke."""

import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.conf import settings
from django.db import IntegrityError, connection, connections, transaction
from django.utils import timezone

from runs.models import Run, RunStatus
from runs.models.hooks import runs_ended
from runs.operations.processes.worker_processes import hold_rows_no_longer_than_a_lease
from runs.queue.steps import AWAY
from runs.queue.sweeping import follow_up, next_attempt, sweep_runs, wait_before_next
from tests.runs.factories import make_experiment, make_run, make_user
from webagent.trajectory.faults import Fault

pytestmark = pytest.mark.django_db


@pytest.fixture
def ended() -> Iterator[list[UUID]]:
    """The ids of runs that were said to have ended."""
    heard: list[UUID] = []

    def hear(sender: object, run_ids: Sequence[UUID], **_: Any) -> None:
        heard.extend(run_ids)

    runs_ended.connect(hear)
    yield heard
    runs_ended.disconnect(hear)


def held(status: str = RunStatus.RUNNING, *, expired: bool = True, **fields: Any) -> Run:
    """A run of some worker, whose lease has run out or not."""
    ago = timedelta(seconds=1 if expired else -60)
    values = {"outcome": "unknown", "end_reason": "unknown", "reward": None, **fields}
    values.setdefault("lease_token", 1)
    return make_run(
        status=status, lease_owner="host:1:a", lease_expires_at=timezone.now() - ago, **values
    )


def another_session() -> psycopg.Connection[Any]:
    """A session of its own on this database; one that writes holds up all others on SQLite."""
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL locks rows")
    return psycopg.connect(**connection.get_connection_params() | {"autocommit": True})


def test_the_sweep_ends_what_a_dead_worker_left_and_queues_the_next_attempt(
    ended, django_capture_on_commit_callbacks
):
    run = held(seed=7, trial=2, max_steps=9, experiment=make_experiment(), created_by=make_user())
    with django_capture_on_commit_callbacks(execute=True):
        sweep_runs()
    run.refresh_from_db()
    assert (run.status, run.outcome, run.end_reason) == ("failed", "error", "killed")
    assert run.error_origin == "harness"
    assert "host:1:a" in run.error_message
    assert run.superseded
    assert run.n_steps == run.steps.count() == 3
    later = Run.objects.get(retry_of=run)
    assert (later.status, later.attempt, later.superseded) == ("queued", 2, False)
    same = ("task_id", "agent_id", "seed", "trial", "max_steps", "experiment_id", "created_by_id")
    assert [getattr(later, name) for name in same] == [getattr(run, name) for name in same]
    assert later.not_before is not None
    assert later.not_before > timezone.now()
    assert ended == [run.pk]


def test_sweeping_twice_makes_one_attempt():
    run = held()
    sweep_runs()
    sweep_runs()
    assert Run.objects.filter(retry_of=run).count() == 1
    assert Run.objects.count() == 2


def test_the_sweep_leaves_living_and_ended_runs_alone():
    alive, over = held(expired=False), make_run()
    before = list(Run.objects.order_by("pk").values())
    sweep_runs()
    assert list(Run.objects.order_by("pk").values()) == before
    assert {alive.pk, over.pk} == {row["id"] for row in before}


def test_the_last_attempt_has_none_after_it():
    run = held(attempt=settings.ENV.MAX_ATTEMPTS)
    sweep_runs()
    run.refresh_from_db()
    assert (run.status, run.superseded) == ("failed", False)
    assert Run.objects.count() == 1


def test_what_was_leased_but_never_started_waits_again():
    run = held(RunStatus.LEASED)
    sweep_runs()
    run.refresh_from_db()
    assert (run.status, run.lease_owner) == ("queued", "")


def test_what_kills_every_worker_that_leases_it_is_not_leased_for_ever():
    run = held(RunStatus.LEASED, lease_token=settings.ENV.MAX_ATTEMPTS)
    sweep_runs()
    run.refresh_from_db()
    assert (run.status, run.end_reason) == ("failed", "never_started")


def test_a_run_that_was_to_be_cancelled_ends_as_that(ended, django_capture_on_commit_callbacks):
    run = held(cancel_requested_at=timezone.now())
    waiting = make_run(status=RunStatus.QUEUED, cancel_requested_at=timezone.now(), steps=0)
    with django_capture_on_commit_callbacks(execute=True):
        sweep_runs()
    for each in (run, waiting):
        each.refresh_from_db()
        assert (each.status, each.outcome, each.end_reason) == (
            "cancelled",
            "incomplete",
            "cancelled",
        )
        assert each.error_message == ""
    assert Run.objects.count() == 2
    assert sorted(ended) == sorted([run.pk, waiting.pk])


def test_a_run_has_one_next_attempt():
    run = make_run(status=RunStatus.FAILED, outcome="error")
    assert follow_up(run, Fault.BROWSER_CRASH) is not None
    with pytest.raises(IntegrityError), transaction.atomic():
        next_attempt(run)


def test_waiting_doubles_and_is_spread():
    base = settings.ENV.RETRY_BACKOFF_S
    for attempt, factor in ((1, 1), (2, 2)):
        run = Run(attempt=attempt)
        drawn = {wait_before_next(run, Fault.HTTP_5XX, may_pass=True) for _ in range(50)}
        waits = {wait for wait in drawn if wait is not None}
        assert len(waits) > 40
        assert min(waits) >= base * factor * 0.5
        assert max(waits) <= base * factor * 1.5


@pytest.mark.slow
@pytest.mark.fault(5, "a worker freezes in the middle of a write, and holds its run's row")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("status", [RunStatus.RUNNING, RunStatus.LEASED])
def test_a_worker_that_froze_in_a_write_holds_up_its_own_run_only(status: str):
    begun = timezone.now() if status == RunStatus.RUNNING else None
    frozen, lost = held(status, started_at=begun), held(status, started_at=begun)
    with another_session() as session:
        session.execute("BEGIN")
        session.execute("UPDATE runs_run SET n_steps = n_steps WHERE id = %s", [frozen.pk])
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '5s'")  # what waits is an error here
        sweep_runs()
        frozen.refresh_from_db()
        lost.refresh_from_db()
        assert (frozen.status, lost.status in ("failed", "queued")) == (status, True)
        session.execute("ROLLBACK")
    sweep_runs()
    frozen.refresh_from_db()
    assert frozen.status == lost.status


@pytest.mark.slow
@pytest.mark.fault(5, "a worker freezes in the middle of a write, for longer than its lease")
@pytest.mark.django_db(transaction=True)
def test_the_row_of_a_frozen_worker_is_free_after_a_lease(monkeypatch: pytest.MonkeyPatch):
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL locks rows")
    monkeypatch.setattr(settings.ENV, "LEASE_S", 1)
    run = held(started_at=timezone.now())
    worker: Any = connections.create_connection("default")
    hold_rows_no_longer_than_a_lease(worker)
    worker.set_autocommit(False)
    with worker.cursor() as cursor:
        cursor.execute("UPDATE runs_run SET n_steps = 7 WHERE id = %s", [run.pk])
    sweep_runs()
    run.refresh_from_db()
    assert run.status == RunStatus.RUNNING
    time.sleep(1.5)
    sweep_runs()
    run.refresh_from_db()
    assert (run.status, run.n_steps != 7) == (RunStatus.FAILED, True)
    assert Run.objects.filter(retry_of=run, status=RunStatus.QUEUED).exists()
    with pytest.raises(AWAY), worker.cursor() as cursor:
        cursor.execute("SELECT 1")  # what it wanted to write is gone with its connection
    worker.close()
