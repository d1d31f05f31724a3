"""Real workers, killed, frozen, and told things twice: every run ends once, none is lost."""

import os
import re
import signal
import time
from collections.abc import Iterator
from functools import partial

import pytest

from runs.models import Run, RunStatus
from tests.runs.live_workers import (
    LEASE_S,
    Site,
    Worker,
    attempts_of,
    check_history,
    freeze,
    has_ended,
    pid_of_owner,
    wait_until,
)
from tests.runs.operations.integrity import rows_hold

pytestmark = pytest.mark.worker


def under_way(run: Run, steps: int = 2) -> Run:
    """The run once it has taken so many steps."""

    def look() -> Run | None:
        now = Run.objects.get(pk=run.pk)
        return now if now.status == RunStatus.RUNNING and now.n_steps >= steps else None

    found: Run = wait_until(look, what=f"step {steps} of {run.pk}")
    return found


def no_browser_is_left(site: Site, limit_s: float = 60) -> None:
    """A worker that lives may keep a driver ready for its next run, but no browser."""

    def left() -> dict[int, str]:
        return {pid: words for pid, words in site.browser_processes().items() if "chrom" in words}

    wait_until(lambda: not left(), limit_s, f"end of {left()}")


def nothing_is_left(site: Site, limit_s: float = 60) -> None:
    wait_until(lambda: not site.browser_processes(), limit_s, f"end of {site.browser_processes()}")


@pytest.mark.sqlite_only("slow; on PostgreSQL test_batch_workers.py does it to a batch")
@pytest.mark.fault(17, "SIGTERM to a worker in the middle of a run")
def test_a_worker_that_is_told_to_stop_hands_its_run_back(site: Site):
    run = site.queue(steps=100)
    with site.worker() as worker:
        under_way(run)
        site.tell(5)  # whatever else it is told before it stops, it takes up nothing
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(30) == 0
    first, second = attempts_of(run.pk)
    assert (first.outcome, first.end_reason, first.superseded) == ("error", "killed", True)
    assert second.status == RunStatus.QUEUED
    nothing_is_left(site, 2)
    Run.objects.request_cancel(second.pk)
    assert Run.objects.end_cancelled() == [second.pk]
    check_history(run.pk)


@pytest.fixture(scope="module")
def left_behind(site: Site) -> Run:
    """A run that a worker held when it was killed."""
    run = site.queue(steps=4)
    with site.worker() as worker:
        under_way(run, steps=1)
        assert any("chrom" in words for words in site.browser_processes().values())
        worker.kill_all()
        nothing_is_left(site)
    assert Run.objects.get(pk=run.pk).status == RunStatus.RUNNING
    return run


@pytest.fixture(scope="module")
def unheard_of(site: Site) -> list[Run]:
    """Queued runs whose messages were lost."""
    runs = [site.queue(steps=1) for _ in range(6)]
    site.tell(6)
    assert site.messages() >= 6
    site.empty_broker()
    assert site.messages() == 0
    return runs


@pytest.fixture(scope="module")
def worker(site: Site, left_behind: Run, unheard_of: list[Run]) -> Iterator[Worker]:
    """One for the tests that leave it alive, once it has done what was left.

    A worker takes seconds to start.
    """
    with site.worker(processes=2) as worker:
        waiting = [left_behind, *unheard_of]
        wait_until(lambda: all(has_ended(run.pk) for run in waiting), what="the end of all")
        yield worker


@pytest.mark.fault(1, "kill -9 of a worker in the middle of a run in a real browser")
def test_a_killed_worker_leaves_no_browser_and_the_next_one_goes_on(
    left_behind: Run, worker: Worker
):
    first, second = check_history(left_behind.pk)
    assert first.end_reason == "killed"
    assert second.n_steps == 4
    rows_hold()


@pytest.mark.fault(2, "the broker loses the messages of all queued runs")
def test_no_run_is_lost_with_the_broker(unheard_of: list[Run], worker: Worker):
    for run in unheard_of:
        (only,) = check_history(run.pk)
        assert (only.status, only.end_reason, only.lease_token) == ("finished", "max_steps", 1)


@pytest.mark.sqlite_only("on PostgreSQL the run below loses three processes in a row")
@pytest.mark.fault(1, "kill -9 of the process that carries out a run in a real browser")
def test_a_killed_child_costs_one_attempt_and_no_step(site: Site, worker: Worker):
    run = site.queue(steps=6)
    seen = under_way(run)
    os.kill(pid_of_owner(seen), signal.SIGKILL)
    killed_at = time.monotonic()
    wait_until(lambda: len(attempts_of(run.pk)) == 2, what="the next attempt")
    assert time.monotonic() - killed_at < LEASE_S + 30
    wait_until(lambda: has_ended(run.pk), what="its end")
    assert worker.process.poll() is None
    first, second = check_history(run.pk)
    assert (first.status, first.outcome, first.end_reason) == ("failed", "error", "killed")
    assert first.error_origin == "harness"
    assert first.n_steps >= seen.n_steps
    assert (second.status, second.outcome, second.end_reason) == (
        "finished",
        "failure",
        "max_steps",
    )
    assert second.n_steps == 6
    no_browser_is_left(site)


@pytest.mark.sqlite_only("tests browsers")
@pytest.mark.fault(7, "SIGSTOP of Chromium, then kill -9 of its owner")
def test_a_frozen_browser_does_not_outlive_its_killed_owner(site: Site, worker: Worker):
    """Playwright's own cleaning needs living processes; the mark that they inherit does not."""
    run = site.queue(steps=4)
    seen = under_way(run, steps=1)
    frozen = site.browser_processes(pid_of_owner(seen))
    assert any("chrom" in words for words in frozen.values())
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    os.kill(pid_of_owner(seen), signal.SIGKILL)
    wait_until(lambda: not frozen.keys() & site.browser_processes().keys(), 60, "their end")
    wait_until(lambda: has_ended(run.pk), what="its end")
    check_history(run.pk)


@pytest.mark.postgresql_only("slow; test_execution.py loses leases on both")
@pytest.mark.fault(5, "SIGSTOP of a process past its lease, then SIGCONT")
def test_a_frozen_worker_that_wakes_up_writes_nothing(site: Site, worker: Worker):
    run = site.queue(steps=10)
    seen = under_way(run)
    freeze(pid_of_owner(seen))
    wait_until(lambda: len(attempts_of(run.pk)) > 1, what="the next attempt")
    ended = _as_it_ended(run)
    steps = list(Run.objects.get(pk=run.pk).steps.values("pk", "index", "record"))
    os.kill(pid_of_owner(seen), signal.SIGCONT)
    refused = re.compile(f"Stopped: run {run.pk} (was taken away|is no longer held)")
    wait_until(lambda: refused.search(worker.words), what="the refusal")
    wait_until(lambda: has_ended(run.pk), what="its end")
    assert _as_it_ended(run) == ended
    assert list(Run.objects.get(pk=run.pk).steps.values("pk", "index", "record")) == steps
    # On a machine that is too busy for its leases another attempt may have been needed.
    *_, last = check_history(run.pk)
    assert last.n_steps == 10
    rows_hold()
    no_browser_is_left(site)


def _as_it_ended(run: Run) -> dict[str, object]:
    """Its row, but for what is looked for once its end is committed: a loop, after a few steps."""
    row = Run.objects.filter(pk=run.pk).values().get()
    return {name: value for name, value in row.items() if name not in ("has_anomaly", "loop")}


@pytest.mark.fault(4, "thirty messages for three runs to two processes")
def test_messages_ten_times_over_run_it_once(site: Site, worker: Worker):
    runs = [site.queue(steps=1) for _ in range(3)]
    site.tell(30)
    wait_until(lambda: all(has_ended(run.pk) for run in runs), what="the end of all")
    wait_until(lambda: site.messages() == 0, what="the last message")
    for run in runs:
        (only,) = check_history(run.pk)
        assert (only.end_reason, only.n_steps, only.lease_token) == ("max_steps", 1, 1)


@pytest.mark.postgresql_only("slow, and alike on both")
@pytest.mark.fault(1, "kill -9 of every process that carries out the run")
def test_a_run_that_always_kills_its_worker_is_given_up(site: Site, worker: Worker):
    run = site.queue(steps=30)
    for attempt in (1, 2, 3):
        wait_until(partial(_has_attempts, run, attempt), what=f"attempt {attempt}")
        holder = under_way(attempts_of(run.pk)[-1], steps=1)
        os.kill(pid_of_owner(holder), signal.SIGKILL)
    wait_until(lambda: has_ended(run.pk), what="its end")
    attempts = check_history(run.pk)
    assert [(a.outcome, a.end_reason) for a in attempts] == [("error", "killed")] * 3
    rows_hold()
    no_browser_is_left(site)


@pytest.mark.postgresql_only("slow, and alike on both")
def test_cancelling_stops_the_browser_and_keeps_the_steps(site: Site, worker: Worker):
    run = site.queue(steps=100)
    seen = under_way(run)
    asked_at = time.monotonic()
    assert Run.objects.request_cancel(run.pk)
    wait_until(lambda: has_ended(run.pk), what="its end")
    assert time.monotonic() - asked_at < 60
    no_browser_is_left(site)
    (only,) = check_history(run.pk)
    assert (only.status, only.outcome) == ("cancelled", "incomplete")
    assert only.end_reason == "cancelled"
    assert only.n_steps >= seen.n_steps


def _has_attempts(run: Run, number: int) -> bool:
    return len(attempts_of(run.pk)) == number
