"""A run that came without its trajectory becomes whole once, at its address."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from runs.exports.services import bundle_of
from runs.imports.storing import ImportedRun, import_bundle
from runs.models import AuditEntry, Run, Task, TaskSet
from runs.models.audit_log import RUN_COMPLETED
from runs.storage.links import run_of_names, stub_for
from tests.runs.factories import make_run
from tests.runs.operations.integrity import rows_hold
from webagent.trajectory.bundles import RunBundle, spellings, stub_bundle, task_record
from webagent.trajectory.formats.native.schema import Blinding
from webagent.trajectory.records import (
    ActionRecord,
    AgentRecord,
    RunRecord,
    SourceRecord,
    StepRecord,
    StubRecord,
)

pytestmark = pytest.mark.django_db
NAMES = {"task_set": "webarena", "task": "webarena.7", "agent": "generic"}


def stub(**names: Any) -> RunBundle:
    return stub_bundle(StubRecord(**NAMES | names), format="labels", why="not here")


def whole(*, task: str = "webarena.7", version: str = "0.14.3", **fields: Any) -> RunBundle:
    agent = fields.pop("agent", "generic")
    described = task_record("webarena", task, version=version)
    run = RunRecord(
        id="a run",
        task_id=described.id,
        source=SourceRecord(format="agentlab"),
        agent=AgentRecord(name=agent, config={"temperature": 0}),
        models=("model-a",),
        outcome="success",
        reward=1.0,
        **{"seed": 5} | fields,
    )
    steps = tuple(
        StepRecord(
            run_id=run.id,
            index=index,
            actions=(ActionRecord(raw=f"click('{index}')", dialect="browsergym", name="click"),),
        )
        for index in range(3)
    )
    return RunBundle(source="a run", task=described, run=run, steps=steps)


@pytest.mark.slow
def test_a_trajectory_makes_its_stub_whole():
    before = import_bundle(stub())
    row = Run.objects.get()
    assert (before.is_stub, row.is_stub, row.n_steps, row.outcome) == (True, True, 0, "unknown")
    after = import_bundle(whole())
    assert (after.run_id, after.is_new, after.was_stub) == (before.run_id, True, True)
    row = Run.objects.get()
    assert (row.is_stub, row.n_steps, row.outcome, row.seed) == (False, 3, "success", 5)
    assert row.steps.count() == 3
    assert row.agent.config == {"temperature": 0}
    # The task that only the stub named is gone with its set.
    assert [str(task_set) for task_set in TaskSet.objects.all()] == ["webarena 0.14.3"]
    assert Task.objects.count() == 1
    assert bundle_of(row).content_hash == whole().content_hash
    assert AuditEntry.objects.filter(kind=RUN_COMPLETED.name).count() == 1
    rows_hold()


@pytest.mark.slow
def test_nothing_is_doubled_whichever_comes_first_and_however_often():
    for bundle in (stub(), stub(), whole(), whole(), stub()):
        import_bundle(bundle)
    assert Run.objects.count() == 1
    rows_hold()


def test_a_stub_of_a_run_that_is_here_is_that_run():
    here = import_bundle(whole())
    assert import_bundle(stub()).run_id == here.run_id
    assert not Run.objects.get().is_stub


@pytest.mark.parametrize(
    "names",
    [
        {"seed": 6},
        {"trial": 2},
        {"model": "model-b"},
        {"agent": "another"},
        {"task": "webarena.8"},
        {"task_set_version": "0.1"},
        {"agent_version": "2"},
    ],
)
def test_a_name_that_differs_makes_another_run(names):
    import_bundle(stub(**names))
    import_bundle(whole())
    assert Run.objects.count() == 2
    assert Run.objects.filter(is_stub=True).count() == 1


def test_of_two_stubs_the_one_that_names_more_becomes_whole():
    import_bundle(stub())
    named = import_bundle(stub(seed=5))
    assert import_bundle(whole()).run_id == named.run_id


def test_of_several_trajectories_the_first_makes_the_stub_whole():
    first = import_bundle(stub())
    assert import_bundle(whole()).run_id == first.run_id
    assert import_bundle(whole(seed=6)).run_id != first.run_id
    assert run_of_names(StubRecord(**NAMES)) == Run.objects.get(pk=first.run_id)


def test_an_attempt_that_was_replaced_leaves_the_stub():
    import_bundle(stub())
    bundle = whole(superseded_by="later")
    assert stub_for(bundle) is None
    import_bundle(bundle)
    assert Run.objects.filter(is_stub=True).count() == 1


@pytest.mark.parametrize("spelled", ["7", "webarena.7", "webarena.7.resized"])
def test_tasks_are_known_however_they_are_spelled(spelled):
    assert spellings("webarena", spelled) >= {"7", "webarena.7"}
    import_bundle(stub())
    import_bundle(whole(task=spelled))
    assert Run.objects.count() == 1


def test_the_database_permits_it_once_and_nothing_else():
    import_bundle(stub())
    only = Run.objects.filter(is_stub=True)
    refused: list[dict[str, Any]] = [
        {"outcome": "success"},
        {"n_steps": 3},
        {"is_stub": False, "status": "queued"},
        {"is_stub": False, "created_at": "2020-01-01T00:00:00Z"},
        {"is_stub": False, "stub_key": None},
    ]
    for change in refused:
        with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
            only.update(**change)
    run = import_bundle(whole())
    refused = [{"is_stub": True}, {"is_stub": True, "n_steps": 0}, {"outcome": "failure"}]
    for change in refused:
        with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
            Run.objects.filter(pk=run.run_id).update(**change)
    made_here = make_run(steps=1)
    with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
        Run.objects.filter(pk=made_here.pk).update(is_stub=True)


def test_a_blind_export_hides_who_acted():
    run = Run.objects.get(pk=import_bundle(stub(agent_version="2", model="model-a")).run_id)
    blind = Blinding(hide_agent=True).apply(bundle_of(run))
    assert blind.run.stub == StubRecord(**NAMES | {"agent": "hidden"})
    assert "generic" not in blind.run.model_dump_json()
    assert "model-a" not in blind.run.model_dump_json()


def test_a_stub_goes_out_and_comes_in_as_it_is():
    run = Run.objects.get(pk=import_bundle(stub(seed=5, model="model-a")).run_id)
    sent = bundle_of(run)
    assert sent.run.stub == StubRecord(**NAMES, seed=5, model="model-a")
    assert [gap.what for gap in sent.run.gaps] == ["trajectory"]
    again = import_bundle(sent)
    assert isinstance(again, ImportedRun)
    assert not again.is_new
