"""A run that was got out of a loop is stored, drawn, exported and read back as it happened."""

from pathlib import Path
from typing import Any

import pytest

from runs.catalogue.tasks.rows import task_record
from runs.launching import running
from runs.launching.anomalies import mark_anomalies
from runs.launching.reruns.services import queue_run
from runs.launching.running import execute
from runs.models import Event, Run
from runs.queue.leases import LeaseRenewer
from runs.viewer.timeline.timeline import timeline_context
from tests.runs.exports.test_exporting import read_back, wipe, written
from tests.runs.factories import make_user
from tests.runs.storage.stores import use_store
from tests.webagent.agents.test_recovery import SETTING_OUT, SMALL, Told
from tests.webagent.shop import Shop
from webagent.agents.running import run_episode
from webagent.environment.browser import OWNER_VARIABLE
from webagent.recovery.retry_policy import RecoveryPolicy
from webagent.trajectory.canonical import run_content_hash
from webagent.trajectory.records import RunRecord, StepRecord

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("test_execution.py runs on both")]


@pytest.fixture
def recovered(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> Run:
    """Four steps out, four of a loop, three replayed, two of another agent that solve it."""
    use_store(settings, tmp_path / "blobs")
    monkeypatch.setattr(LeaseRenewer, "_beat", lambda self: None)
    monkeypatch.setenv(OWNER_VARIABLE, "")

    def in_shop(*args: Any, **options: Any) -> RunRecord:
        return run_episode(
            *args,
            **options
            | {
                "environment": Shop(),
                "policy": RecoveryPolicy(**SMALL),
                "other_agent": Told("fill('a', 'x')", "click('go')"),
            },
        )

    monkeypatch.setattr(running, "run_episode", in_shop)
    config: Any = {"first": list(SETTING_OUT), "block": ["scroll(0, 5)"]}
    run = queue_run(
        task="miniwob.click-test", agent="stuck", agent_config=config, seed=5, max_steps=30
    )
    assert execute(run.pk)
    return Run.objects.get(pk=run.pk)


def states(run: Run) -> str:
    ordered = run.steps.order_by("index")
    return "".join(state[0].upper() for state in ordered.values_list("state", flat=True))


@pytest.mark.slow
def test_the_states_that_steps_came_to_are_stored(recovered: Run) -> None:
    assert (recovered.outcome, recovered.n_steps) == ("success", 13)
    assert states(recovered) == "LLLSSSSS" + "RRR" + "LL"
    kinds = list(recovered.events.values_list("kind", flat=True))
    assert kinds == ["loop", "rollback", "model_switch"]
    assert recovered.has_anomaly
    record = RunRecord.model_validate(recovered.record)
    records = tuple(StepRecord.model_validate(s.record) for s in recovered.steps.order_by("index"))
    digest = run_content_hash(task_record(recovered.task), record, records)
    assert digest == recovered.content_hash
    assert mark_anomalies(run_ids=[recovered.pk]) == 0


@pytest.mark.slow
def test_export_and_import_lose_nothing_of_it(recovered: Run, tmp_path: Path) -> None:
    before, config = written(tmp_path, "before.zip"), recovered.agent.config_hash
    wipe()
    (imported,) = read_back(tmp_path / "before.zip")
    run = Run.objects.get(pk=imported.run_id)
    assert states(run) == "LLLSSSSS" + "RRR" + "LL"
    assert run.events.count() == 3
    assert run.end_reason == "task_ended"
    # Another agent's model took over for some steps; the run's own configuration is the same.
    assert run.agent.config_hash == config
    assert written(tmp_path, "after.zip") == before


def test_the_timeline_says_what_happened(recovered: Run) -> None:
    data = timeline_context(recovered, make_user("admin"))["timeline"]["data"]
    marks = [(mark["kind"], mark["first"], mark["last"], mark["label"]) for mark in data["events"]]
    assert marks == [
        ("given_up", 3, 7, "abandoned: steps 3–7"),
        (Event.Kind.LOOP, 4, 7, "loop of 1 step repeated, steps 4–7"),
        (
            Event.Kind.ROLLBACK,
            8,
            10,
            "back to the start, 3 steps replayed, continues before step 3",
        ),
        (Event.Kind.MODEL_SWITCH, 11, 12, "m2 took over, steps 11–12"),
    ]
    assert [step.get("replays") for step in data["steps"]] == [None] * 8 + [0, 1, 2] + [None] * 2
    assert data["final"]["sign"] == "✓"
    assert data["final"]["words"].endswith("recovered: success after 1 recovery")
    assert [step["branch"] for step in data["steps"]] == [0] * 8 + [1] * 5
    # What the last abandoned step led to is its own, not what the replay began with.
    assert data["steps"][7]["after"] is not None
