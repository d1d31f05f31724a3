"""Real workers killed in the middle of a batch: resumed, nothing evaluated or paid twice.

On PostgreSQL. On SQLite runs are handed back, gone on with and told ten times over in
`tests/runs/queue/test_workers.py`, and every queue is taken in `tests/faults/test_any_process.py`.
"""

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from django.conf import settings

from judging.evaluating.services import cancel_batch, start_batch
from judging.evaluators.registry import evaluator_named
from judging.models import Evaluation, EvaluationBatch
from tests.judging.analysis import audited
from tests.judging.evaluating.asked_models import always, models_file
from tests.runs.live_workers import ROOT, Site, Worker, wait_until
from tests.runs.operations.integrity import rows_hold
from tests.webagent.llm.stub import LLMStub, running_stub

pytestmark = pytest.mark.worker
ON_POSTGRESQL = pytest.mark.postgresql_only("slow; on SQLite test_workers.py does it to runs")

State = EvaluationBatch.State


@pytest.fixture(scope="module")
def stub(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LLMStub]:
    """The model that all workers of the site ask."""
    with running_stub() as stub, pytest.MonkeyPatch.context() as patch:
        file = models_file(tmp_path_factory.mktemp("models"), stub.openai_url)
        site.environment.update({"MODELS_FILE": str(file), "JUDGE_MODEL": "stub-judge"})
        patch.setattr(settings.ENV, "MODELS_FILE", file)
        patch.setattr(settings.ENV, "JUDGE_MODEL", "stub-judge")
        stub.reply = always(True)
        yield stub


@pytest.fixture
def judge(stub: LLMStub) -> LLMStub:
    """It is slow, is asked four requests at a time, and has not been asked anything."""
    stub.latency = 0.2
    stub.asked.clear()
    return stub


@pytest.fixture(scope="module")
def worker(site: Site, stub: LLMStub) -> Iterator[Worker]:
    """One for the tests that leave it alive, from the first of them on."""
    with site.worker(processes=2) as worker:
        yield worker


def queued(name: str, runs: int) -> EvaluationBatch:
    """A batch of which no worker has been told; the sweep will tell one."""
    world = audited.study(name)
    for number in range(runs):
        spec = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "42"}}
        of = audited.task(f"{name} {number}", spec=spec)
        world.add(of=audited.run(of, final_answer=f"{name}, answer {number}"))
    batch = start_batch(
        evaluator=evaluator_named("two-stage-judge"), study=world.study, notifies=False
    )
    EvaluationBatch.objects.filter(pk=batch.pk).update(dispatched_at=None)
    return batch


def now(batch: EvaluationBatch) -> EvaluationBatch:
    return EvaluationBatch.objects.get(pk=batch.pk)


def check(batch: EvaluationBatch) -> None:
    """Each run was evaluated exactly once, and every counter tells it."""
    found = Evaluation.objects.filter(batch=batch)
    assert found.values("run").distinct().count() == found.count() == now(batch).n_done
    assert not found.filter(is_current=False).exists()
    assert not found.exclude(verdict="passed").exists()
    rows_hold(EvaluationBatch, Evaluation)


@ON_POSTGRESQL
@pytest.mark.fault(17, "SIGTERM to a worker in the middle of a batch of evaluations")
def test_worker_that_is_told_to_stop_hands_its_batch_back(site: Site, judge: LLMStub):
    batch = queued("Stopped", 40)
    with site.worker() as worker:
        wait_until(lambda: now(batch).n_done >= 4, what="the first verdicts")
        worker.process.terminate()
        assert worker.process.wait(30) == 0
    assert now(batch).state == State.QUEUED
    check(batch)
    assert len(judge.asked) == now(batch).n_done
    cancel_batch(batch=batch)
    assert now(batch).state == State.CANCELLED


@pytest.mark.sqlite_only("tests a command")
def test_interrupted_command_keeps_what_is_done_and_goes_on(site: Site, judge: LLMStub):
    batch = queued("By command", 40)
    cancel_batch(batch=batch)
    command = [sys.executable, "manage.py", "evaluate", "--study", "By command"]
    command += ["--evaluator", "two-stage-judge"]
    running = subprocess.Popen(
        command, cwd=ROOT, env=site.environment, stderr=subprocess.PIPE, start_new_session=True
    )
    made = Evaluation.objects.filter(run__study_items__study=batch.study)
    wait_until(lambda: made.count() >= 4, what="the first verdicts")
    running.send_signal(signal.SIGINT)
    _, words = running.communicate(timeout=60)
    assert running.returncode == 1
    assert b"the same command goes on from there" in words
    first = made.count()
    assert len(judge.asked) == first < 40
    judge.latency = 0
    again = subprocess.run(
        command, cwd=ROOT, env=site.environment, capture_output=True, check=True, timeout=120
    )
    assert f"{40 - first} evaluated".encode() in again.stdout
    assert made.count() == len(judge.asked) == 40


@ON_POSTGRESQL
@pytest.mark.fault(1, "kill -9 of a worker in the middle of a batch of evaluations")
def test_killed_worker_is_resumed_and_nothing_is_paid_twice(
    site: Site, judge: LLMStub, request: pytest.FixtureRequest
):
    batch = queued("Killed", 40)
    with site.worker() as worker:
        wait_until(lambda: now(batch).n_done >= 8, what="the first verdicts")
        worker.kill_all()
    left = now(batch)
    assert left.state == State.RUNNING
    assert left.n_done < 40
    finished = set(Evaluation.objects.filter(batch=batch).values_list("run_id", flat=True))
    request.getfixturevalue("worker")
    wait_until(lambda: now(batch).state == State.FINISHED, what="the end of the batch")
    check(batch)
    assert (now(batch).n_passed, now(batch).lease_token) == (40, 2)
    times = Counter(asked.text for asked in judge.asked)
    # Only what was on its way when the worker died is asked again, never what had a verdict.
    again = [text for text, count in times.items() if count > 1]
    assert len(again) <= 4
    assert len(times) == 40
    assert len(finished) >= 8


@ON_POSTGRESQL
@pytest.mark.fault(4, "the message of a batch ten times to two processes")
def test_messages_ten_times_over_evaluate_once(site: Site, worker: Worker, judge: LLMStub):
    judge.latency = 0.05
    batch = queued("Doubled", 12)
    for _ in range(10):
        site.broker.send_task("judging.tasks.evaluate_batch", (str(batch.pk),), queue="judge")
    wait_until(lambda: now(batch).state == State.FINISHED, what="the end of the batch")
    check(batch)
    assert (now(batch).lease_token, len(judge.asked)) == (1, 12)


@ON_POSTGRESQL
def test_cancel_reaches_a_worker_in_the_middle(worker: Worker, judge: LLMStub):
    batch = queued("Cancelled", 200)
    wait_until(lambda: now(batch).n_done >= 4, what="the first verdicts")
    cancel_batch(batch=now(batch))
    wait_until(lambda: now(batch).state == State.CANCELLED, what="the end")
    check(batch)
    assert len(judge.asked) == now(batch).n_done < 200
