"""New runs are stored in one transaction; where one is not new, none of them is."""

from itertools import groupby

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from runs.imports import together
from runs.imports.reading_ahead import ReadRun
from runs.imports.rows import has_namesakes
from runs.imports.session import ImportSession
from runs.imports.storing import import_bundle
from runs.imports.together import companions, store_together
from runs.models import Blob, Experiment, ImportJob, Run
from runs.storage.blobs import BlobBatch
from tests.runs.factories import make_user
from tests.runs.imports.test_reading_ahead import stored
from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.intake import Problem

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("store")]
NUMBERS = range(4)


def read(bundle: RunBundle) -> ReadRun:
    files = BlobBatch()
    for blob in bundle.blob_records():
        files.add(bundle.read_blob(blob.sha256), blob.media_type)
    files.sync()
    return ReadRun(bundle, files)


@pytest.mark.slow
def test_they_are_stored_as_each_by_itself_is():
    with transaction.atomic():
        for number in NUMBERS:
            import_bundle(run_bundle(number))
        by_themselves = stored()
        transaction.set_rollback(True)
    runs = [read(run_bundle(number)) for number in NUMBERS]
    with CaptureQueriesContext(connection) as asked:
        found = store_together(runs, None, ImportSession())
    assert found is not None
    assert [each.bundle for each in found] == [run.bundle for run in runs]
    assert stored() == by_themselves
    inserts = [each["sql"] for each in asked if each["sql"].startswith('INSERT INTO "runs_run"')]
    assert len(inserts) == 1


def test_an_upload_knows_the_runs_that_it_brought():
    job = ImportJob.objects.create(created_by=make_user(), file_name="a.zip", size=1)
    found = store_together([read(run_bundle(n)) for n in NUMBERS], None, ImportSession(job=job))
    assert found is not None
    brought = set(job.runs_of_file.values_list("id_in_file", "run_id"))
    assert brought == {(each.bundle.run.id, each.run.pk) for each in found}


@pytest.mark.parametrize("name", ["Run", "insert_parts", "save_together", "problems_with"])
def test_a_refusal_leaves_none_of_them(monkeypatch, name):
    def refuse(*_: object, **__: object) -> None:
        raise DatabaseError

    monkeypatch.setattr(together, name, refuse) if name != "Run" else monkeypatch.setattr(
        type(Run.objects.all()), "bulk_create", refuse
    )
    session = ImportSession()
    assert store_together([read(run_bundle(n)) for n in NUMBERS], None, session) is None
    assert not Run.objects.exists()
    assert not Blob.objects.exists()


def test_one_that_is_here_or_comes_twice_has_each_stored_by_itself():
    runs = [read(run_bundle(number)) for number in NUMBERS]
    assert store_together([*runs, runs[0]], None, ImportSession()) is None
    import_bundle(run_bundle(2))
    assert store_together(runs, None, ImportSession()) is None
    assert Run.objects.count() == 1


def test_what_may_concern_other_runs_is_stored_by_itself():
    Experiment.objects.create(name="small", max_runs=9)
    session = ImportSession()

    def stretches(*items: ReadRun | Problem) -> list[int]:
        found = groupby(items, lambda item: companions(item, name=None, session=session))
        return [len(list(those)) for _, those in found]

    def with_run(number: int, **changes: object) -> ReadRun:
        bundle = run_bundle(number)
        run = bundle.run.model_copy(update=changes)
        return ReadRun(RunBundle(source="", task=bundle.task, run=run), BlobBatch())

    plain = [with_run(number) for number in NUMBERS]
    link = with_run(5, retry_of="run-1")
    full = with_run(6, experiment="small")
    other = with_run(7, experiment="large")
    problem = Problem("", "", "", "")
    unwritten = ReadRun(run_bundle(8), OSError())
    assert stretches(*plain[:2], link, *plain[2:]) == [2, 1, 2]
    assert stretches(full, full, other, other, plain[0]) == [1, 1, 2, 1]
    assert stretches(problem, unwritten, ReadRun(run_bundle(9)), plain[0]) == [1, 1, 1, 1]


@pytest.mark.sqlite_only("asks SQLite for its plan")
def test_looking_for_parts_goes_by_the_tasks():
    """Not through all runs of the person or the experiment, which are many more."""
    import_bundle(run_bundle(1), experiment_name="large")
    with CaptureQueriesContext(connection) as asked:
        assert has_namesakes([run_bundle(1), run_bundle(2)], "large", None)
        assert not has_namesakes([run_bundle(1), run_bundle(2)], "other", None)
    plans = []
    with connection.cursor() as cursor:
        for sql in {each["sql"] for each in asked if 'FROM "runs_run"' in each["sql"]}:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
            plans.append(" ".join(str(row[-1]) for row in cursor.fetchall()))
    assert plans
    assert all("INDEX run_by_task (task_id=?)" in plan for plan in plans), plans
