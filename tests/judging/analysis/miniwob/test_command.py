"""`manage.py miniwob_suite`: launched once, interrupted, gone on with, and told in tables."""

import io
import json
import signal
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from runs.launching.experiments import services as experiments
from runs.launching.experiments import services as foreground
from runs.models import Experiment, Run, RunStatus

pytestmark = pytest.mark.django_db
ASKED = ("--agent", "oracle", "--tasks", "click-test,click-tab-2,use-slider", "--seeds", "0-1")


@pytest.fixture(autouse=True)
def carried_out(monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """The runs that were carried out, each of which solves its task; no browser is needed."""
    done: list[UUID] = []

    def solve(run_id: UUID) -> bool:
        done.append(run_id)
        ended = {"status": RunStatus.FINISHED, "outcome": Run.Outcome.SUCCESS}
        Run.objects.filter(pk=run_id).update(reward=1.0, n_steps=2, **ended)
        if len(done) == 2:
            signal.raise_signal(signal.SIGINT)
        return True

    monkeypatch.setattr(foreground, "execute", solve)
    monkeypatch.setattr(experiments, "wake_workers", lambda: None)
    return done


def suite(*more: str) -> str:
    out = io.StringIO()
    call_command("miniwob_suite", *ASKED, *more, stdout=out, stderr=io.StringIO())
    return out.getvalue()


@pytest.mark.slow
def test_interrupted_it_goes_on_and_launches_nothing_twice(
    carried_out: list[UUID], tmp_path: Path
) -> None:
    with pytest.raises(CommandError, match="2 runs to go") as stopped:
        suite()
    assert stopped.value.returncode == 130
    report = tmp_path / "report.json"
    told = json.loads(suite("--resume", "--json", "--out", str(report)))
    assert told == json.loads(report.read_text())
    assert len(carried_out) == len(set(carried_out)) == Run.objects.count() == 4
    kept = Experiment.objects.get()
    assert kept.plan["tasks"] == ["miniwob.click-test", "miniwob.click-tab-2"]
    assert set(Run.objects.values_list("seed", "max_steps")) == {(0, 10), (1, 10)}
    own = [row for row in told["tables"]["miniwob"]["rows"] if row["origin"] == "own runs"]
    assert [(row["mean_rate"], row["tasks"], row["n"]) for row in own] == [(1.0, 2, 4)] * 2
    # Once more: nothing to carry out, the same tables as text.
    assert "use-slider" in suite()
    assert len(carried_out) == 4


def test_what_cannot_be_done_is_said(carried_out: list[UUID]) -> None:
    with pytest.raises(CommandError, match="never launched"):
        suite("--resume")
    with pytest.raises(CommandError, match="no task and no group of tasks 'click-nothing'"):
        suite("--tasks", "click-nothing")
    with pytest.raises(CommandError, match="No task matches"):
        suite("--tasks", "use-slider")
    with pytest.raises(CommandError, match="each once"):
        suite("--seeds", "1,1")
    with pytest.raises(CommandError, match="no agent 'nobody'"):
        suite("--agent", "nobody")
    for option in ("--max-steps=0", "--draw=0", "--draw=-1", "--draw-seed=-1", "--out=/no/such/x"):
        with pytest.raises(CommandError, match=option.partition("=")[0][2:] + "|cannot be written"):
            suite(option)
    assert not Run.objects.exists()


@pytest.mark.slow
def test_tasks_left_out_run_where_they_are_wanted(carried_out: list[UUID]) -> None:
    with pytest.raises(CommandError, match="to go"):
        suite("--include-excluded")
    suite("--include-excluded")
    assert len(carried_out) == 6
    assert Run.objects.filter(task__external_id="miniwob.use-slider").count() == 2
