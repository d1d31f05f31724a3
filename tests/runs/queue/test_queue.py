"""The queue's verbs: of two callers one wins, and a stale worker changes nothing."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from runs.models import Run, RunStatus
from tests.runs.factories import make_run

pytestmark = pytest.mark.django_db

LEASE_S = 60


def queued(**fields: Any) -> Run:
    values = {"status": RunStatus.QUEUED, "outcome": "unknown", "end_reason": "unknown"}
    return make_run(steps=0, **{**values, "reward": None, "started_at": None, **fields})


def claim(run: Run, owner: str = "w1") -> Run | None:
    return Run.objects.claim(run.pk, owner=owner, lease_s=LEASE_S)


def running(**fields: Any) -> Run:
    run = claim(queued(**fields))
    assert run is not None
    assert Run.objects.start(run.pk, run.lease_token)
    return Run.objects.get(pk=run.pk)


def expire(run: Run) -> None:
    past = timezone.now() - timedelta(seconds=1)
    Run.objects.filter(pk=run.pk).update(lease_expires_at=past)


@pytest.mark.fault(4, "two processes claim one run")
def test_one_of_two_claims_wins():
    run = queued()
    won = claim(run, "w1")
    assert won is not None
    assert (won.status, won.lease_owner, won.lease_token) == ("leased", "w1", 1)
    assert claim(run, "w2") is None
    assert Run.objects.get(pk=run.pk).lease_owner == "w1"


@pytest.mark.slow
@pytest.mark.fault(14, "the process's own clock is ignored")
@pytest.mark.parametrize("ahead_s", [0, 1200, -1200])
def test_a_lease_lasts_as_long_as_it_says_by_the_clock_of_the_database(
    monkeypatch: pytest.MonkeyPatch, ahead_s: int
):
    waiting, right = queued(), timezone.now
    with monkeypatch.context() as patched:
        patched.setattr(timezone, "now", lambda: right() + timedelta(seconds=ahead_s))
        run = claim(waiting)
    assert run is not None
    assert run.heartbeat_at is not None
    assert run.lease_expires_at is not None
    length = run.lease_expires_at - run.heartbeat_at
    assert abs(length - timedelta(seconds=LEASE_S)) < timedelta(milliseconds=5)
    assert abs(run.heartbeat_at - timezone.now()) < timedelta(seconds=5)


@pytest.mark.parametrize("status", [s for s in RunStatus if s != RunStatus.QUEUED])
def test_only_queued_runs_are_claimed(status: str):
    assert claim(queued(status=status)) is None


def test_a_run_is_not_claimed_before_its_time():
    now = timezone.now()
    assert claim(queued(not_before=now + timedelta(seconds=30))) is None
    assert claim(queued(not_before=now - timedelta(seconds=30))) is not None


def test_a_run_that_is_to_be_cancelled_is_not_claimed():
    run = queued()
    assert Run.objects.request_cancel(run.pk)
    assert claim(run) is None
    assert Run.objects.end_cancelled() == [run.pk]
    run.refresh_from_db()
    assert (run.status, run.outcome, run.end_reason) == ("cancelled", "incomplete", "cancelled")


def test_cancelling_what_runs_only_asks():
    run = running()
    assert Run.objects.request_cancel(run.pk)
    run.refresh_from_db()
    assert run.status == RunStatus.RUNNING
    assert run.cancel_requested_at is not None
    assert Run.objects.end_cancelled() == []


def test_cancelling_what_has_ended_does_nothing():
    run = make_run()
    assert not Run.objects.request_cancel(run.pk)
    run.refresh_from_db()
    assert run.cancel_requested_at is None


def test_a_beat_renews_the_lease_and_writes_with_it():
    run = running()
    soon = timezone.now() + timedelta(seconds=1)
    Run.objects.filter(pk=run.pk).update(lease_expires_at=soon)
    assert Run.objects.beat(run.pk, run.lease_token, lease_s=LEASE_S, n_steps=4)
    run.refresh_from_db()
    assert run.n_steps == 4
    assert run.lease_expires_at is not None
    assert run.lease_expires_at > soon + timedelta(seconds=30)


@pytest.mark.fault(5, "every kind of write with a stale token")
def test_a_stale_token_changes_nothing():
    run = running()
    before = Run.objects.filter(pk=run.pk).values().get()
    stale = run.lease_token - 1
    assert not Run.objects.beat(run.pk, stale, lease_s=LEASE_S, n_steps=9)
    assert not Run.objects.start(run.pk, stale)
    assert not Run.objects.end(run.pk, stale, status=RunStatus.FINISHED)
    assert Run.objects.filter(pk=run.pk).values().get() == before


def test_nobody_writes_to_a_run_that_has_ended():
    run = running()
    assert Run.objects.end(run.pk, run.lease_token, status=RunStatus.FINISHED, outcome="success")
    assert not Run.objects.beat(run.pk, run.lease_token, lease_s=LEASE_S)
    assert not Run.objects.end(run.pk, run.lease_token, status=RunStatus.FAILED)
    run.refresh_from_db()
    assert (run.status, run.outcome) == ("finished", "success")
    assert run.ended_at is not None


def test_a_run_starts_once():
    run = running()
    assert not Run.objects.start(run.pk, run.lease_token)


def test_an_expired_run_is_ended_unless_its_worker_woke_up():
    dead, awake = running(), running()
    expire(dead)
    expire(awake)
    assert set(Run.objects.expired()) == {dead, awake}
    assert Run.objects.beat(awake.pk, awake.lease_token, lease_s=LEASE_S)
    assert Run.objects.end_expired(dead.pk, dead.lease_token, status=RunStatus.FAILED)
    assert not Run.objects.end_expired(awake.pk, awake.lease_token, status=RunStatus.FAILED)
    assert not Run.objects.beat(dead.pk, dead.lease_token, lease_s=LEASE_S)


def test_what_was_leased_but_never_started_waits_again_and_the_old_owner_is_out():
    run = claim(queued())
    assert run is not None
    assert Run.objects.requeue_expired() == 0
    expire(run)
    assert Run.objects.requeue_expired() == 1
    again = claim(run, "w2")
    assert again is not None
    assert again.lease_token == run.lease_token + 1
    assert not Run.objects.start(run.pk, run.lease_token)
    assert Run.objects.start(run.pk, again.lease_token)
