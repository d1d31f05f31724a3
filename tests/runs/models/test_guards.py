"""A finished run and its steps refuse to change, whoever asks and however."""

import pytest
from django.db import IntegrityError, connection, transaction

from runs.models import Experiment, Run, RunStatus, Step
from tests.runs.factories import delete_run, make_run, make_task

pytestmark = pytest.mark.django_db

CONTENT = {
    "status": RunStatus.QUEUED,
    "outcome": Run.Outcome.FAILURE,
    "reward": 0.5,
    "final_answer": "42",
    "goal": "another",
    "n_steps": 7,
    "record": {"id": "x"},
    "content_hash": "a" * 64,
    "evidence": {"url": "x"},
    "cost": "1.5",
}


@pytest.mark.parametrize("column", CONTENT)
def test_content_of_a_finished_run_stays(column):
    run = make_run(steps=1, reward=1.0)
    with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
        Run.objects.filter(pk=run.pk).update(**{column: CONTENT[column]})


@pytest.mark.parametrize("status", RunStatus.ended())
def test_every_ended_status_is_final(status):
    run = make_run(steps=0, status=status)
    run.outcome = Run.Outcome.ERROR
    with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
        run.save()


def test_steps_of_a_finished_run_stay():
    step = make_run(steps=1).steps.get()
    step.thought = "something wiser"
    with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
        step.save()


def test_what_is_not_content_may_change():
    run = make_run(steps=1)
    later = make_run(steps=0)
    experiment = Experiment.objects.create(name="moved here")
    Run.objects.filter(pk=run.pk).update(
        superseded=True, has_anomaly=True, experiment=experiment, rerun_of=later, family=later.pk
    )
    run.refresh_from_db()
    assert (run.superseded, run.has_anomaly, run.experiment) == (True, True, experiment)


def test_saving_without_a_change_is_no_change():
    run = make_run(steps=1, evidence={"a": [1, 2.5]}, record={"b": None})
    Run.objects.get(pk=run.pk).save()
    Step.objects.get(run=run).save()


def test_a_running_run_changes_and_ends_once():
    run = make_run(steps=1, status=RunStatus.RUNNING)
    Step.objects.filter(run=run).update(thought="still thinking")
    Run.objects.filter(pk=run.pk).update(status=RunStatus.FINISHED, reward=1.0)
    with pytest.raises(IntegrityError), transaction.atomic():
        Run.objects.filter(pk=run.pk).update(reward=0.0)


def test_a_run_can_be_deleted_whole():
    run = make_run(steps=2, task=make_task())
    with pytest.raises(IntegrityError), transaction.atomic():
        run.delete()
    delete_run(run)
    assert not Step.objects.exists()


@pytest.mark.parametrize("model", [Run, Step])
def test_neither_can_be_replaced(model):
    run = make_run(steps=2, task=make_task())
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite replaces rows")
    table = model._meta.db_table
    fields = [field for field in model._meta.concrete_fields if not field.generated]
    columns = ", ".join(f'"{field.column}"' for field in fields)
    with (
        pytest.raises(IntegrityError, match="deleted only once it is named"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"REPLACE INTO {table} ({columns}) SELECT {columns} FROM {table}")  # noqa: S608
    # What is sent twice is passed over as before.
    Run.objects.bulk_create([run], ignore_conflicts=True)
    assert Run.objects.get().n_steps == 2


def test_deleting_what_it_was_rerun_from_leaves_the_run():
    first = make_run(steps=0)
    again = make_run(steps=0, rerun_of=first)
    delete_run(first)
    again.refresh_from_db()
    assert again.rerun_of is None
