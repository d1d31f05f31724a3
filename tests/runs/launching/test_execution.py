"""Carrying out a claimed run: what is stored when, and what each kind of fault becomes."""

import asyncio
import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import SynchronousOnlyOperation
from django.db import OperationalError
from django.utils import timezone

from runs.catalogue.tasks.rows import task_record
from runs.launching import running
from runs.launching.reruns.services import queue_run
from runs.launching.running import execute, execute_next
from runs.models import Blob, Run, RunStatus
from runs.queue import steps
from runs.queue.leases import Lease, LeaseLostError, LeaseRenewer, claim
from runs.queue.steps import StepStore, retry_write
from runs.storage.blobs import read_blob
from tests.runs.storage.stores import files_in, use_store
from tests.webagent.made_up import Stage
from webagent.agents.running import run_episode
from webagent.environment.browser import OWNER_VARIABLE
from webagent.environment.interface import EnvironmentFailure
from webagent.trajectory.canonical import run_content_hash
from webagent.trajectory.faults import Fault
from webagent.trajectory.live import Observation, StepResult
from webagent.trajectory.records import BlobRecord, RunRecord, StepRecord, StepState
from webagent.trajectory.records import Observation as Seen

pytestmark = pytest.mark.django_db
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
    "789c63f8ffff3f0005fe02fe0def46b80000000049454e44ae426082"
)


class Page(Stage):
    """An environment without a browser: a page that never changes, or that fails as told."""

    def __init__(self, failure: Exception | None = None, fails_at: int = 0) -> None:
        self.failure = failure
        self.fails_at = fails_at
        self.taken = 0
        self.closed = 0

    def _see(self) -> Observation:
        return Observation(
            at=datetime.now(UTC),
            goal="Wait.",
            url="http://page.local/",
            title="page",
            screenshot=PNG,
            width=1,
            height=1,
            axtree=f"RootWebArea 'page {self.taken}'",
        )

    def reset(self, seed: int | None) -> Observation:
        if self.failure is not None and self.fails_at == 0:
            raise self.failure
        return self._see()

    def step(self, action: str) -> StepResult:
        self.taken += 1
        if self.failure is not None and self.taken == self.fails_at:
            raise self.failure
        return StepResult(observation=self._see(), reward=0, terminated=False, truncated=False)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heartbeats come from a thread, which does not see what a test has not committed.

    The mark for browsers does not outlast the test.
    """
    monkeypatch.setattr(LeaseRenewer, "_beat", lambda self: None)
    monkeypatch.setenv(OWNER_VARIABLE, "")


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    page = Page()

    def on_page(*args: Any, **options: Any) -> RunRecord:
        return run_episode(*args, **options, environment=page)

    monkeypatch.setattr(running, "run_episode", on_page)
    yield page
    assert page.closed or page.failure is not None


def queued(steps: int = 3, agent: str = "looping", **fields: Any) -> Run:
    run = queue_run(task="miniwob.click-test", agent=agent, seed=5, max_steps=steps)
    Run.objects.filter(pk=run.pk).update(**fields)
    return run


def now(run: Run) -> Run:
    return Run.objects.get(pk=run.pk)


def test_steps_are_stored_as_they_happen(page: Page):
    seen: list[tuple[int, int, str]] = []
    run = queued()

    def look(step: StepRecord) -> None:
        stored = now(run)
        seen.append((stored.n_steps, stored.steps.count(), stored.status))

    assert execute(run.pk, on_step=look)
    assert seen == [(1, 1, "running"), (2, 2, "running"), (3, 3, "running")]


def test_a_run_that_went_well_is_stored_whole(page: Page, django_capture_on_commit_callbacks):
    run = queued()
    execute(run.pk)
    stored = now(run)
    assert (stored.status, stored.outcome, stored.end_reason) == (
        "finished",
        "failure",
        "max_steps",
    )
    assert (stored.n_steps, stored.goal, stored.seed, stored.attempt) == (3, "Wait.", 5, 1)
    assert stored.n_screenshots == 4
    assert stored.seconds is not None
    assert stored.ended_at is not None
    assert stored.lease_expires_at is None
    last = stored.steps.get(index=2)
    assert last.screenshot_id
    assert read_blob(last.screenshot_id) == PNG
    assert last.after_tree_id
    assert read_blob(last.after_tree_id) == b"RootWebArea 'page 3'"


def test_the_hash_is_that_of_the_stored_records(page: Page):
    """So a run that goes out and comes in again is known to be here."""
    run = queued()
    execute(run.pk)
    stored = now(run)
    record = RunRecord.model_validate(stored.record)
    records = tuple(StepRecord.model_validate(step.record) for step in stored.steps.all())
    assert run_content_hash(task_record(stored.task), record, records) == stored.content_hash


@pytest.mark.fault(4, "the message of a run twice")
def test_a_second_message_finds_nothing_to_do(page: Page):
    run = queued()
    assert execute(run.pk)
    before = Run.objects.filter(pk=run.pk).values().get()
    assert not execute(run.pk)
    assert Run.objects.filter(pk=run.pk).values().get() == before


@pytest.mark.parametrize("fails_at", [0, 2])
def test_an_environment_that_fails_is_an_error_and_tried_again(page: Page, fails_at: int):
    page.failure = EnvironmentFailure("the browser crashed", Fault.BROWSER_CRASH)
    page.fails_at = fails_at
    run = queued()
    execute(run.pk)
    stored = now(run)
    assert (stored.status, stored.outcome) == ("failed", "error")
    assert (stored.error_origin, stored.fault) == ("environment", "browser_crash")
    assert stored.error_message == "the browser crashed"
    assert stored.reward is None
    assert stored.superseded
    later = Run.objects.get(retry_of=run)
    assert later.not_before is not None
    assert later.not_before > timezone.now()


def test_what_time_does_not_cure_is_not_tried_again(page: Page):
    page.failure = EnvironmentFailure("no Chromium", Fault.BROWSER_MISSING)
    run = queued()
    execute(run.pk)
    assert now(run).outcome == "error"
    assert not Run.objects.filter(retry_of=run).exists()


def test_the_last_attempt_is_not_followed(page: Page):
    page.failure = EnvironmentFailure("the browser crashed", Fault.BROWSER_CRASH)
    run = queued(attempt=settings.ENV.MAX_ATTEMPTS)
    execute(run.pk)
    assert not Run.objects.filter(retry_of=run).exists()
    assert not now(run).superseded


def test_a_failure_of_the_agent_is_not_tried_again(page: Page):
    run = queued(agent="early_finisher")
    execute(run.pk)
    assert now(run).outcome == "failure"
    assert not Run.objects.filter(retry_of=run).exists()


def test_a_fault_of_ours_is_an_error_of_the_harness(page: Page, monkeypatch: pytest.MonkeyPatch):
    page.closed = 1  # it is never opened

    def break_down(*_: Any, **__: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(running, "run_episode", break_down)
    run = queued()
    execute(run.pk)
    stored = now(run)
    assert (stored.outcome, stored.error_origin) == ("error", "harness")
    assert stored.error_message == "RuntimeError: a bug"
    assert Run.objects.filter(retry_of=run).exists()


def test_an_agent_that_is_not_here_any_more_is_said_and_not_tried_again(page: Page):
    page.closed = 1
    run = queued()
    run.agent.name = "gone"
    run.agent.save()
    execute(run.pk)
    stored = now(run)
    assert "gone" in stored.error_message
    assert stored.outcome == "error"
    assert not Run.objects.filter(retry_of=run).exists()


def test_cancelling_is_noticed_at_the_next_step_and_keeps_what_was_done(page: Page):
    run = queued(steps=50)

    def cancel(step: StepRecord) -> None:
        if step.index == 1:
            Run.objects.request_cancel(run.pk)

    execute(run.pk, on_step=cancel)
    stored = now(run)
    assert (stored.status, stored.outcome, stored.end_reason) == (
        "cancelled",
        "incomplete",
        "cancelled",
    )
    assert 2 <= stored.n_steps <= 3
    assert not Run.objects.filter(retry_of=run).exists()


def test_a_worker_that_is_told_to_stop_hands_its_run_back(
    page: Page, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("runs.queue.steps.is_stopping", lambda: page.taken >= 2)
    monkeypatch.setattr(running, "is_stopping", lambda: page.taken >= 2)
    run = queued(steps=50)
    execute(run.pk)
    stored = now(run)
    assert (stored.outcome, stored.end_reason) == ("error", "killed")
    assert stored.error_message == "The worker was shut down."
    assert Run.objects.get(retry_of=run).status == RunStatus.QUEUED


@pytest.mark.fault(17, "a message reaches a worker that is told to stop")
def test_a_worker_that_is_told_to_stop_takes_up_no_run(page: Page, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(running, "is_stopping", lambda: True)
    run = queued()
    assert not execute_next()
    assert (now(run).status, now(run).lease_token, page.taken) == (RunStatus.QUEUED, 0, 0)
    monkeypatch.setattr(running, "is_stopping", lambda: False)
    assert execute_next()
    assert now(run).lease_token == 1


@pytest.mark.fault(5, "a run is taken from a process that goes on")
def test_a_worker_that_lost_its_run_writes_no_step_and_no_end(page: Page):
    run = queued(steps=50)

    def lose(step: StepRecord) -> None:
        if step.index == 1:
            past = timezone.now() - timedelta(seconds=1)
            Run.objects.filter(pk=run.pk).update(lease_expires_at=past)
            token = now(run).lease_token
            assert Run.objects.end_expired(run.pk, token, status="failed", outcome="error")

    assert execute(run.pk, on_step=lose)
    stored = now(run)
    assert (stored.status, stored.n_steps, stored.steps.count()) == ("failed", 2, 2)
    assert stored.content_hash is None
    assert page.closed


def test_a_stale_lease_stores_nothing():
    run = queued()
    claimed = claim(run.pk)
    assert claimed is not None
    stale = Lease(run.pk, claimed[1].token - 1)
    store = StepStore(stale)
    with pytest.raises(LeaseLostError):
        store(StepRecord(run_id=str(run.pk), index=0), {})
    assert run.steps.count() == 0


def test_files_are_written_while_the_browser_acts_and_rows_come_with_the_step(
    settings: Any, tmp_path: Path
):
    folder = use_store(settings, tmp_path / "blobs")
    run = queued()
    claimed = claim(run.pk)
    assert claimed is not None
    store, tree = StepStore(claimed[1]), b"RootWebArea 'Shop'"
    sha256 = hashlib.sha256(tree).hexdigest()
    blob = BlobRecord(sha256=sha256, media_type="text/plain", bytes=len(tree), role="a11y_tree")
    record = StepRecord(run_id=str(run.pk), index=0, before=Seen(a11y_tree=blob))
    store.foresee({sha256: tree}, {sha256: "text/plain"})
    store._writing._writers.shutdown()
    (file,) = files_in(folder)
    assert not Blob.objects.exists()
    written_at = file.stat().st_mtime_ns
    store(record, {sha256: tree})
    assert run.steps.get().tree == Blob.objects.get(media_type="text/plain")
    # The next step on the same page writes nothing anew.
    store.foresee({sha256: tree}, {sha256: "text/plain"})
    store(record.model_copy(update={"index": 1}), {sha256: tree})
    assert [path.stat().st_mtime_ns for path in files_in(folder)] == [written_at]
    assert run.steps.get(index=1).tree_id == sha256


@pytest.mark.fault(9, "the disk is full at a picture of a step")
def test_a_file_that_cannot_be_written_stores_no_step(settings: Any, tmp_path: Path):
    use_store(settings, tmp_path / "blobs", fails_at=1)
    run = queued()
    claimed = claim(run.pk)
    assert claimed is not None
    store = StepStore(claimed[1])
    store.foresee({"a" * 64: b"tree"}, {"a" * 64: "text/plain"})
    with pytest.raises(OSError, match="space"):
        store(StepRecord(run_id=str(run.pk), index=0), {})
    assert not run.steps.exists()


@pytest.mark.fault(3, "the connection is cut after the commit of a step")
def test_a_step_whose_answer_got_lost_is_stored_once(monkeypatch: pytest.MonkeyPatch):
    run = queued()
    claimed = claim(run.pk)
    assert claimed is not None
    store = StepStore(claimed[1])
    record = StepRecord(run_id=str(run.pk), index=0)
    store(record, {})
    store.steps.pop()
    store(record, {})
    assert run.steps.count() == 1


def test_a_step_that_is_given_up_later_changes_its_state_and_nothing_else():
    run = queued()
    claimed = claim(run.pk)
    assert claimed is not None
    seen: list[int] = []
    store = StepStore(claimed[1], lambda step: seen.append(step.index))
    for index in range(2):
        store(StepRecord(run_id=str(run.pk), index=index, thought="Hm."), {})
    given_up = store.steps[1].model_copy(update={"state": StepState.SUPERSEDED})
    store(given_up, {})
    states = list(run.steps.order_by("index").values_list("state", "thought"))
    assert states == [("live", "Hm."), ("superseded", "Hm.")]
    assert store.steps[1] == given_up
    stored = run.steps.get(index=1)
    assert StepRecord.model_validate(stored.record) == given_up
    assert seen == [0, 1]


@pytest.mark.fault(3, "the database is away while a step is written")
def test_writes_wait_for_a_database_that_comes_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("runs.queue.steps.time.sleep", lambda seconds: None)
    monkeypatch.setattr(steps, "connection", _Connection())
    tries = []

    def write() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise OperationalError("the server closed the connection")
        return "written"

    assert retry_write(write) == "written"
    assert len(tries) == 3


@pytest.mark.django_db
def test_a_loop_of_another_thread_keeps_nothing_from_the_database():
    loop = asyncio.new_event_loop()
    try:
        asyncio._set_running_loop(loop)
        with pytest.raises(SynchronousOnlyOperation):
            Run.objects.count()
        assert retry_write(Run.objects.count) == 0
    finally:
        asyncio._set_running_loop(None)
        loop.close()


class _Connection:
    in_atomic_block = False

    def close(self) -> None:
        pass
