"""An experiment goes through Celery whole, though a worker is killed and Redis starts anew.

Real browsers, by two worker processes, on PostgreSQL and Redis. Small, but with WHOLE_EXPERIMENT=1
of ten tasks, two configurations and three trials.
"""

import os
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from runs.exports.services import export_runs
from runs.launching.experiments.plans import Plan, Seeds, read_agent
from runs.launching.experiments.selection import Selection, tasks_of
from runs.launching.experiments.services import launch_experiment
from runs.models import Experiment, Run, RunStatus
from tests.faults.services import Redis
from tests.judging.analysis.experiments import by_hand, made
from tests.runs.live_workers import Site, check_history, live_site, wait_until
from tests.runs.operations.integrity import rows_hold
from tests.runs.storage.stores import use_store

pytestmark = [
    pytest.mark.worker,
    pytest.mark.postgresql_only("slow; on SQLite test_workers.py kills workers and loses messages"),
]

TASKS = (
    *("click-test", "click-test-2", "click-button", "click-link", "click-dialog"),
    *("click-widget", "focus-text", "focus-text-2", "unicode-test", "click-option"),
)
"""One to three steps each."""
SOLVES, STANDS_STILL = "oracle", 'looping:{"action": "noop(10)"}'
N_TASKS, N_TRIALS = (10, 3) if "WHOLE_EXPERIMENT" in os.environ else (2, 2)


@pytest.fixture
def redis() -> Iterator[Redis]:
    server = Redis()
    server.start()
    yield server
    server.kill()


@pytest.fixture
def site(tests_database, django_db_blocker, redis: Redis, tmp_path: Path) -> Iterator[Site]:
    directory = tmp_path / "data"
    directory.mkdir()
    with django_db_blocker.unblock(), live_site(directory, redis.url) as site:
        yield site


def launch() -> Experiment:
    plan = Plan(
        name="Survives",
        tasks=tasks_of(Selection(task_set="miniwob", picked=TASKS[:N_TASKS]), None),
        agents=(read_agent(SOLVES), read_agent(STANDS_STILL)),
        trials=N_TRIALS,
        seeds=Seeds(first=0),
        max_steps=4,
    )
    token = uuid.uuid4()
    first = launch_experiment(plan=plan, token=token, user=None)
    again = launch_experiment(plan=plan, token=token, user=None)
    assert (first.is_new, again.is_new) == (True, False)
    assert first.experiment == again.experiment
    return first.experiment


def ended(experiment: Experiment) -> int:
    last = Run.objects.filter(experiment=experiment).latest_attempts()
    return last.filter(status__in=RunStatus.ended()).count()


@pytest.mark.fault(
    2, "a worker is killed and the broker starts anew, empty, in the middle of an experiment"
)
def test_nothing_is_lost_and_nothing_doubled(site: Site, redis: Redis, settings: Any):
    experiment = launch()
    n_runs = N_TASKS * 2 * N_TRIALS
    assert Run.objects.filter(experiment=experiment).count() == n_runs
    started_at = time.monotonic()
    with ExitStack() as stack:
        others = stack.enter_context(site.worker(queues="default,judge,sweep"))
        workers = [stack.enter_context(site.worker(queues="browser")) for _ in "ab"]
        wait_until(lambda: ended(experiment) >= n_runs // 3, 300, "a third")
        victim = workers[0]
        wait_until(lambda: _is_at_work(victim.process.pid), 60, "a run of the first worker")
        victim.kill_all()
        stack.enter_context(site.worker(queues="browser"))
        wait_until(lambda: ended(experiment) >= n_runs // 2, 300, "half")
        redis.kill()
        time.sleep(2)
        redis.start()
        wait_until(lambda: ended(experiment) == n_runs, 300, "the end of all")
        seconds = time.monotonic() - started_at
        assert others.process.poll() is None
    attempts = Run.objects.filter(experiment=experiment)
    _is_whole(experiment, n_runs)
    rows_hold()
    use_store(settings, site.data_dir / "blobs")
    export_runs(site.data_dir / "runs.zip", attempts)
    by_hand.check(made.reader(), experiment.pk, by_hand.Exported(site.data_dir / "runs.zip"))
    assert attempts.filter(end_reason="killed").count() >= 1
    print(f"\n{n_runs} runs, {attempts.count()} attempts, {seconds:.0f} s")  # noqa: T201 (for -s)


def _is_at_work(pid: int) -> bool:
    """Whether a child of this worker holds a run."""
    holders = Run.objects.filter(status=RunStatus.RUNNING, n_steps__gte=0).values_list(
        "lease_owner", flat=True
    )
    pids = [int(owner.rsplit(":", 2)[1]) for owner in holders]
    return any(_parent(child) == pid for child in pids)


def _parent(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def _is_whole(experiment: Experiment, n_runs: int) -> None:
    """Every task, agent and trial has exactly one attempt that counts, and none is half."""
    runs = Run.objects.filter(experiment=experiment).select_related("task", "agent")
    scored = list(runs.latest_attempts())
    assert len(scored) == n_runs
    cells = Counter((run.task.external_id, run.agent.name, run.trial) for run in scored)
    wanted = {
        (f"miniwob.{task}", agent, trial)
        for task in TASKS[:N_TASKS]
        for agent in ("oracle", "looping")
        for trial in range(1, N_TRIALS + 1)
    }
    assert set(cells) == wanted
    assert set(cells.values()) == {1}
    outcomes = Counter((run.agent.name, run.outcome, run.end_reason) for run in scored)
    half = n_runs // 2
    assert outcomes == {
        ("oracle", "success", "task_ended"): half,
        ("looping", "failure", "max_steps"): half,
    }
    for run in runs.filter(retry_of=None):
        check_history(run.pk)
    for task, trial in {(task, trial) for task, _, trial in cells}:
        seeds = {r.seed for r in scored if r.task.external_id == task and r.trial == trial}
        assert seeds == {trial - 1}
