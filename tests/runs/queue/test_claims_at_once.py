"""Many workers claim at the same moment, on the real database with real threads."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from runs.models import Experiment, ImportJob, Run, RunStatus
from runs.models.runs import queue
from runs.models.runs.queue import QueueQuerySet
from runs.models.runs.turns import First, firsts_in_turn
from tests.runs.factories import make_run, make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

LEASE_S = 60
WORKERS = 4


def queued(**fields: Any) -> Run:
    ended = {"outcome": "unknown", "end_reason": "unknown", "reward": None, "started_at": None}
    return make_run(steps=0, **{"status": RunStatus.QUEUED, **ended, **fields})


def of_all(claim: Callable[[int, threading.Barrier], list[Any]]) -> list[Any]:
    """What the workers won, each in a thread of its own, on a connection of its own."""
    won: list[Any] = []
    together = threading.Barrier(WORKERS, timeout=30)

    def work(number: int) -> None:
        try:
            won.extend(claim(number, together))
        finally:
            connections["default"].close()

    threads = [
        threading.Thread(target=work, args=(number,), name=f"{number}") for number in range(WORKERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return won


@pytest.mark.fault(4, "four workers claim each of twelve runs at the same moment")
def test_every_run_is_had_by_one() -> None:
    ids = [queued().pk for _ in range(12)]

    def claim(number: int, together: threading.Barrier) -> list[Any]:
        won = []
        for run_id in ids:
            together.wait()
            won.append(Run.objects.claim(run_id, owner=f"w{number}", lease_s=LEASE_S))
        return [run.pk for run in won if run]

    assert sorted(of_all(claim)) == sorted(ids)
    assert set(Run.objects.values_list("lease_token", flat=True)) == {1}


@pytest.mark.fault(4, "four workers claim each of twelve imports at the same moment")
def test_every_piece_of_work_is_had_by_one() -> None:
    user = make_user()
    jobs = [
        ImportJob.objects.create(file_name="a.zip", path="a", size=1, created_by=user)
        for _ in range(12)
    ]

    def claim(number: int, together: threading.Barrier) -> list[Any]:
        won = []
        for job in jobs:
            together.wait()
            won.append(ImportJob.objects.claim(job.pk, lease_s=LEASE_S))
        return [job.pk for job in won if job]

    assert sorted(of_all(claim)) == sorted(job.pk for job in jobs)
    assert set(ImportJob.objects.values_list("lease_token", flat=True)) == {1}


@pytest.mark.fault(4, "four workers take the next run of an experiment at the same moment")
def test_an_experiment_never_has_more_runs_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = Experiment.objects.create(name="small", parallelism=1)
    ids = [queued(experiment=experiment).pk for _ in range(WORKERS)]
    (first,) = firsts_in_turn(Run.objects.all(), timezone.now())
    claim_one, all_looked = QueueQuerySet.claim, threading.Barrier(WORKERS)

    def claim(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Wait for the others, who must not come here before the first has its run."""
        with suppress(threading.BrokenBarrierError):
            all_looked.wait(0.5)
        return claim_one(self, *args, **kwargs)

    def firsts(*_: Any) -> list[First]:
        """Another run for each, as where others have come to be first in between."""
        return [replace(first, run_id=ids[int(threading.current_thread().name)])]

    monkeypatch.setattr(QueueQuerySet, "claim", claim)
    monkeypatch.setattr(queue, "firsts_in_turn", firsts)
    monkeypatch.setattr(queue, "TRIES", 2)

    def claim_next(number: int, together: threading.Barrier) -> list[Any]:
        together.wait()
        run = Run.objects.claim_next(owner=f"w{number}", lease_s=LEASE_S)
        return [run.pk] if run else []

    assert len(of_all(claim_next)) == 1
    assert Run.objects.filter(status=RunStatus.LEASED).count() == 1
