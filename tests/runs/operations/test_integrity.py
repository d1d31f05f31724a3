"""Whatever does not hold is found, with its row; what holds is not."""

import json
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from runs.models import ImportJob, LearningItem, LearningJob, LeasedWork, Run, Step
from runs.models.triggers import remove_guards
from runs.operations.integrity import violations
from runs.storage.blobs import storage_name
from tests.runs.factories import make_run, make_user
from tests.runs.operations.integrity import everything_holds, found, plant
from tests.runs.storage.stores import use_store

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql_only("slow, and alike on both")]

NOW = timezone.now()
State = LeasedWork.State
NO_ENDING: dict[str, Any] = {"outcome": "unknown", "end_reason": "unknown", "reward": None}
QUEUED: dict[str, Any] = {**NO_ENDING, "status": "queued", "started_at": None, "queued_at": NOW}
LEASE: dict[str, Any] = {"lease_owner": "w:1:a", "lease_token": 1, "lease_expires_at": NOW}
HELD: dict[str, Any] = {**QUEUED, **LEASE, "claimed_at": NOW, "heartbeat_at": NOW}
LEASED: dict[str, Any] = {**HELD, "status": "leased"}
RUNNING: dict[str, Any] = {**HELD, "status": "running", "started_at": NOW}
PUSHED: dict[str, Any] = {**RUNNING, "source_format": "push", "queued_at": None, "claimed_at": None}
ENDED: dict[str, Any] = {"queued_at": NOW, "ended_at": NOW}


@pytest.fixture
def unguarded() -> None:
    """Without the triggers, which refuse most of what is planted here in ended runs."""
    remove_guards()


def whole_run(**fields: Any) -> Run:
    values = {"pictures": False, "steps": 2, **fields}
    if values.get("status", "finished") == "finished":
        values["content_hash"] = uuid4().hex * 2
    return make_run(**values)


def test_healthy_runs_of_every_state_are_left_alone() -> None:
    failed: dict[str, Any] = {
        **ENDED,
        "status": "failed",
        "outcome": "error",
        "end_reason": "killed",
    }
    cancelled: dict[str, Any] = {
        **ENDED,
        "status": "cancelled",
        "outcome": "incomplete",
        "end_reason": "cancelled",
    }
    make_run(content_hash="a" * 64)
    for fields in (QUEUED, LEASED, RUNNING, PUSHED, cancelled):
        whole_run(**fields)
    first = whole_run(**failed, superseded=True)
    whole_run(**QUEUED, task=first.task, retry_of=first, attempt=2)
    everything_holds()


@pytest.mark.parametrize(
    ("fields", "planted", "why"),
    [
        ({}, {"status": "asleep"}, "status asleep is none"),
        ({}, {"outcome": "fine"}, "outcome fine is none"),
        ({}, {"end_reason": "bored"}, "end_reason bored is none"),
        (QUEUED, {"lease_owner": "w:1:a"}, "it waits, and w:1:a holds a lease"),
        (QUEUED, {"started_at": NOW}, "it is queued and has started"),
        (QUEUED, {"outcome": "success"}, "it is queued and has an ending (success, unknown)"),
        (LEASED, {"lease_token": 0}, "it is leased without a whole lease"),
        (RUNNING, {"lease_expires_at": None}, "it is running without a whole lease"),
        (RUNNING, {"heartbeat_at": None}, "it is running without a whole lease"),
        (RUNNING, {"started_at": None}, "it runs and has not started"),
        (RUNNING, {"content_hash": "b" * 64}, "it is running and has an ending"),
        (PUSHED, {"heartbeat_at": None}, "it is running without a whole lease"),
        (PUSHED, {"status": "queued"}, "it is pushed from elsewhere, and waits"),
        (PUSHED, {"lease_token": 2}, "it is pushed from elsewhere, and a worker has claimed it"),
        ({}, {"lease_expires_at": NOW}, "it has ended and is still leased"),
        ({}, {"queued_at": NOW}, "it has ended, and nobody noted when"),
        ({}, {"content_hash": None}, "it has finished without a content hash"),
        ({}, {"end_reason": "cancelled"}, "status finished does not go with"),
        ({}, {"status": "cancelled"}, "status cancelled does not go with"),
        ({}, {"status": "failed"}, "status failed does not go with"),
        (ENDED, {"outcome": "error"}, "status finished does not go with outcome error"),
        ({}, {"n_steps": 3}, "n_steps is 3, and it has 2"),
        ({}, {"n_screenshots": 1}, "n_screenshots is 1, and its steps have 0"),
    ],
)
def test_a_run_that_is_not_as_it_must_be(
    unguarded: None, fields: dict[str, Any], planted: dict[str, Any], why: str
) -> None:
    whole_run()
    told = plant(whole_run(**fields), **planted)
    assert any(words.startswith(why) for words in told), told


def test_a_lost_step_is_found(unguarded: None) -> None:
    run = make_run(content_hash="c" * 64)
    Step.objects.filter(run=run, index=2).delete()
    assert found(run) == ["n_steps is 3, and it has 2", "n_screenshots is 3, and its steps have 2"]


@pytest.mark.parametrize(
    ("planted", "why"),
    [
        ({"attempt": 5}, "it is attempt 5, after attempt 1"),
        ({"trial": 9}, "it is another attempt at run {}, and not at its task and trial"),
        ({"family": "0" * 32}, "it repeats run {} and is of another family"),
    ],
)
def test_attempts_that_do_not_follow(planted: dict[str, Any], why: str) -> None:
    first = whole_run(superseded=True)
    later = whole_run(**QUEUED, task=first.task, retry_of=first, attempt=2)
    assert plant(later, **planted) == [why.format(first.pk)]


def test_an_attempt_after_one_that_counts_still() -> None:
    first = whole_run()
    later = whole_run(**QUEUED, task=first.task, retry_of=first, attempt=2)
    assert found(later) == [
        f"it is the next attempt after run {first.pk}, which has not ended or counts still"
    ]


def make_import(**fields: Any) -> ImportJob:
    values = {"file_name": "a.zip", "path": "/a.zip", "size": 1, **fields}
    return ImportJob.objects.create(created_by=make_user(), **values)


WORK_HELD: dict[str, Any] = {"state": "running", "lease_token": 1, "lease_expires_at": NOW} | {
    "claimed_at": NOW,
    "started_at": NOW,
}


@pytest.mark.parametrize(
    ("fields", "planted", "why"),
    [
        ({}, {"state": "dozing"}, "state dozing is none"),
        (WORK_HELD, {"lease_token": 0}, "it runs without a whole lease"),
        ({}, {"lease_expires_at": NOW}, "it is queued and leased"),
        (WORK_HELD, {"ended_at": NOW}, "it is running and has ended"),
        ({"lease_token": 1}, {"state": "failed"}, "it is failed, and nobody noted when it ended"),
        ({"ended_at": NOW}, {"state": "finished"}, "it has finished without a report"),
        (
            {"only_looks": True, "state": "finished", "survey": {"runs": 1}},
            {"survey": {}},
            "it has finished without a survey",
        ),
    ],
)
def test_work_that_is_not_as_it_must_be(
    fields: dict[str, Any], planted: dict[str, Any], why: str
) -> None:
    make_import(**WORK_HELD)
    told = plant(make_import(**fields), **planted)
    assert any(words.startswith(why) for words in told), told


def test_counters_of_learning_that_are_not_its_rows() -> None:
    job = LearningJob.objects.create(kind="hints", n_total=2, n_done=1, lease_token=1)
    for position, is_done in enumerate((True, False)):
        LearningItem.objects.create(job=job, position=position, key=str(position), is_done=is_done)
    assert found(job) == []
    assert plant(job, n_done=2) == ["n_done is 2, and 1 of its items are done"]
    assert plant(job, n_done=1, n_total=3) == ["n_total is 3, and it has 2 items"]
    assert plant(job, n_total=2, state=State.FINISHED, ended_at=NOW) == [
        "it has finished with 1 of 2 done"
    ]


def test_what_the_database_has_lost_is_found() -> None:
    # While the index is there no row can break what it keeps: the database refuses it.
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX one_authoritative_verdict_per_run")
    remove_guards()
    told = [str(violation) for violation in violations()]
    assert told[0] == (
        "judging.ReferenceVerdict one_authoritative_verdict_per_run:"
        " the database has lost this constraint"
    )
    assert any("database runs_run_never_changes: the trigger" in line for line in told)


def test_the_command_tells_each_finding_and_ends_with_1(
    settings: Any, tmp_path: Any, capsys: Any
) -> None:
    store = use_store(settings, tmp_path / "blobs")
    run: Any = make_run(steps=2, content_hash="d" * 64)
    call_command("check_integrity", "--hashes")
    assert "1 runs.Run, 2 runs.Step.\nViolations: 0.\n" in capsys.readouterr().out
    gone, changed = (step.screenshot for step in run.steps.order_by("index"))
    (store / storage_name(gone)).unlink()
    path = store / storage_name(changed)
    path.write_bytes(path.read_bytes()[:-1] + b"X")
    Run.objects.filter(pk=run.pk).update(lease_expires_at=NOW)
    for options, n in (((), 2), (("--hashes",), 3)):
        with pytest.raises(SystemExit) as stop:
            call_command("check_integrity", *options)
        assert stop.value.code == 1
        said = capsys.readouterr().out
        assert f"runs.Run {run.pk}: it has ended and is still leased\n" in said
        assert f"runs.Blob {gone.pk}: " in said
        assert (f"runs.Blob {changed.pk}: " in said) == ("--hashes" in options)
        assert f"Violations: {n}.\n" in said
    with pytest.raises(SystemExit):
        call_command("check_integrity", "--format", "json")
    *findings, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert findings[0] == {
        "model": "runs.Run",
        "key": str(run.pk),
        "why": "it has ended and is still leased",
    }
    assert summary["violations"] == len(findings) == 2
