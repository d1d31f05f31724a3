"""Health means work: the site is ill while work waits that could be carried out."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from judging.models import EvaluationBatch, LabelImport, StudyDownload
from runs.models import (
    Experiment,
    ExperimentState,
    ImportJob,
    LearningJob,
    LeasedWork,
    Run,
    RunStatus,
    WorkerBeat,
)
from runs.operations.health.checks import GRACE_S, PROMISED, longest_wait_s, neglected
from runs.queue.jobs import kinds_of_work
from runs.queue.workers import all_duties, beat
from tests.judging.analysis import audited
from tests.judging.factories import make_study
from tests.runs.factories import make_run, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("test_any_process.py freezes a process on PostgreSQL"),
]

Kind = type[LeasedWork]


def an_import() -> LeasedWork:
    return ImportJob.objects.create(file_name="a.zip", path="a", size=1, created_by=make_user())


def a_label_import() -> LeasedWork:
    return LabelImport.objects.create(created_by=make_user(), path="x", size=1, study_name="s")


def a_download() -> LeasedWork:
    return StudyDownload.objects.create(study=make_study(), kind="report")


def a_learning_job() -> LeasedWork:
    return LearningJob.objects.create(kind="hints", model="m")


def a_batch(model: str = "m") -> LeasedWork:
    return EvaluationBatch.objects.create(evaluator=audited.evaluator("judge"), model=model)


MADE: dict[Kind, tuple[Callable[[], LeasedWork], str]] = {
    ImportJob: (an_import, "default"),
    LabelImport: (a_label_import, "default"),
    StudyDownload: (a_download, "default"),
    LearningJob: (a_learning_job, "judge"),
    EvaluationBatch: (a_batch, "judge"),
}
every_kind = pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.__name__)


def waits(kind: Kind, **changes: Any) -> str:
    """Queue a piece of this work, for longer than it should wait; the queue."""
    make, queue = MADE[kind]
    _age(make(), **changes)
    return queue


def _age(work: LeasedWork, **changes: Any) -> None:
    values = {"created_at": long_ago(), "dispatched_at": long_ago()} | changes
    type(work).objects.filter(pk=work.pk).update(**values)


def long_ago(more_s: float = 1) -> Any:
    return timezone.now() - timedelta(seconds=longest_wait_s() + more_s)


def in_an_hour() -> Any:
    return timezone.now() + timedelta(hours=1)


def a_run_waits(**fields: Any) -> Run:
    values = {"status": RunStatus.QUEUED, "queued_at": long_ago()} | fields
    run = make_run(steps=0, pictures=False, **values)
    Run.objects.filter(pk=run.pk).update(created_at=long_ago())
    return run


def workers_live(*, slots: int = 1, busy: int = 0, room_for_s: float | None = 3600) -> None:
    """One worker for everything."""
    room = room_for_s if busy < slots else None
    beat("all@a", sorted(all_duties()), slots, busy=busy, room_for_s=room)


def health() -> tuple[int, str]:
    answer = Client().get("/healthz")
    return answer.status_code, answer.json()["worker"]


def test_every_kind_of_work_is_tried():
    assert set(MADE) == set(kinds_of_work())
    assert {make().queue for make, _ in MADE.values()} == {queue for _, queue in MADE.values()}


def test_all_is_well_while_nothing_waits():
    workers_live()
    assert health() == (200, "ok")


@every_kind
def test_work_that_nobody_takes_makes_the_site_ill(kind: Kind):
    queue = waits(kind)
    workers_live()
    found = f"nobody takes the work that waits for: {queue}"
    assert health() == (503, found)
    assert PROMISED["work"]() == found


@every_kind
def test_work_of_a_worker_that_is_gone_is_work_that_nobody_takes(kind: Kind):
    queue = waits(kind, state="running", lease_expires_at=long_ago())
    workers_live()
    assert neglected() == {queue}


NEED_NOT_BE_TAKEN: dict[str, Callable[[], dict[str, Any]]] = {
    "new": lambda: {"created_at": timezone.now()},
    "handed back just now": lambda: {"claimed_at": timezone.now()},
    "ended": lambda: {"state": "finished"},
    "cancelled": lambda: {"state": "cancelled"},
    "held": lambda: {"state": "running", "lease_expires_at": in_an_hour()},
}


@every_kind
@pytest.mark.parametrize("why", NEED_NOT_BE_TAKEN)
@pytest.mark.slow
def test_work_that_need_not_be_taken_is_no_fault(kind: Kind, why: str):
    waits(kind, **NEED_NOT_BE_TAKEN[why]())
    workers_live()
    assert neglected() == set()


@every_kind
def test_a_backlog_is_no_fault(kind: Kind):
    waits(kind)
    workers_live(slots=2, busy=2)
    assert health() == (200, "ok")
    # One has just become free, and will take it.
    workers_live(slots=2, busy=1, room_for_s=1)
    assert health() == (200, "ok")
    workers_live(slots=2, busy=1, room_for_s=longest_wait_s() + 1)
    assert health()[0] == 503


def test_a_worker_of_another_queue_is_no_help():
    queue = waits(ImportJob)
    beat("browser@a", ["browser"], room_for_s=3600)
    beat("default@a", ["default"], 1, busy=1)
    assert neglected() == set()
    WorkerBeat.objects.filter(name="default@a").delete()
    assert neglected() == {queue}


@every_kind
def test_without_any_worker_nobody_takes_it_either(kind: Kind):
    assert neglected() == set()
    assert neglected() | {waits(kind)} == neglected()


def test_what_waits_for_a_free_model_is_no_fault():
    for make in (a_batch, a_learning_job):
        _age(make())
        held = make()
        _age(held, state="running", lease_expires_at=in_an_hour())
        workers_live()
        assert neglected() == set()
        type(held).objects.filter(pk=held.pk).update(state="finished")
        assert neglected() == {"judge"}
        type(held).objects.all().delete()
    _age(a_batch(model=""))
    assert neglected() == {"default"}


def test_a_run_that_nobody_takes_makes_the_site_ill():
    a_run_waits()
    workers_live()
    assert health() == (503, "nobody takes the work that waits for: browser")
    workers_live(busy=1)
    assert health() == (200, "ok")


@pytest.mark.parametrize("state", sorted(set(ExperimentState) - {ExperimentState.RUNNING}))
def test_runs_of_an_experiment_that_rests_may_wait(state: str):
    a_run_waits(experiment=Experiment.objects.create(name="Rests", state=state))
    workers_live()
    assert neglected() == set()
    Experiment.objects.update(state=ExperimentState.RUNNING)
    assert neglected() == {"browser"}


def test_runs_whose_time_has_not_come_may_wait():
    run = a_run_waits(not_before=in_an_hour())
    workers_live()
    assert neglected() == set()
    Run.objects.filter(pk=run.pk).update(not_before=timezone.now() - timedelta(seconds=1))
    assert neglected() == set()
    Run.objects.filter(pk=run.pk).update(not_before=long_ago())
    assert neglected() == {"browser"}


@pytest.mark.parametrize("status", [RunStatus.LEASED, RunStatus.RUNNING])
def test_a_run_that_no_sweep_takes_from_a_dead_worker_makes_the_site_ill(status: str):
    run = a_run_waits(status=status)
    Run.objects.filter(pk=run.pk).update(lease_expires_at=long_ago())
    workers_live(busy=1)
    assert health() == (503, "nobody takes the work that waits for: sweep")
    Run.objects.filter(pk=run.pk).update(lease_expires_at=timezone.now())
    assert health() == (200, "ok")


def test_the_promise_is_a_lease_and_thirty_seconds():
    assert longest_wait_s() == settings.ENV.LEASE_S + 30 == settings.ENV.LEASE_S + GRACE_S
