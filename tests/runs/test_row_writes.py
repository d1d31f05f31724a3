"""Rows that are written without Django's query are the rows that it would have written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from uuid import uuid4

import pytest
from django.db import IntegrityError, models, transaction

from runs.models import Attachment, Blob, Event, Run, Step
from runs.models.row_writes import insert_all
from runs.storage.records import attachment_rows, event_rows, spelled_json, step_row
from tests.runs.factories import make_run
from tests.webagent.trajectory.samples import run_bundle
from webagent.trajectory.records import Record

pytestmark = pytest.mark.django_db


def stored(model: type[models.Model]) -> list[tuple[object, ...]]:
    """All that the database holds of them, but for keys of its own."""
    fields = [field.attname for field in model._meta.concrete_fields]
    own = {"id", "created_at", "queued_at"}
    kept = [name for name in fields if name not in own]
    return sorted(model._default_manager.values_list(*kept), key=repr)


def rows_of(
    run: Run, spell: Callable[[Record], object] | None = None
) -> dict[type[models.Model], list[models.Model]]:
    bundle = run_bundle(1)
    blobs = [
        Blob(sha256=blob.sha256, media_type=blob.media_type, size=blob.bytes)
        for blob in bundle.blob_records()
    ]
    steps = [step_row(run.pk, step, spell) for step in bundle.steps]
    files = [
        row
        for record, step in zip(bundle.steps, steps, strict=True)
        for row in attachment_rows(run.pk, record, step)
    ]
    return {
        Blob: list(blobs),
        Step: list(steps),
        Attachment: [*attachment_rows(run.pk, bundle.run), *files],
        Event: list(event_rows(run.pk, bundle.run.events)),
    }


def test_they_are_as_bulk_create_writes_them() -> None:
    run = make_run(steps=0)
    found = []
    for spell, write in (
        (None, lambda model, rows: model._default_manager.bulk_create(rows)),
        (None, lambda _, rows: insert_all(rows)),
        (None, lambda _, rows: insert_all(rows, ignore_conflicts=True)),
        (spelled_json, lambda _, rows: insert_all(rows)),
        (spelled_json, lambda _, rows: insert_all(rows, ignore_conflicts=True)),
    ):
        with transaction.atomic():
            for model, rows in rows_of(run, spell).items():
                assert rows
                write(model, rows)
            found.append({model: stored(model) for model in rows_of(run)})
            transaction.set_rollback(True)
    assert found[1:] == [found[0]] * 4


def test_a_run_is_as_its_manager_writes_it() -> None:
    first = make_run(steps=0, content_hash=None)
    second = Run.objects.get(pk=first.pk)
    second.pk = uuid4()
    insert_all([second])
    (one, other) = stored(Run)
    assert one == other


def test_one_that_is_there_stays_where_asked_and_is_an_error_elsewhere() -> None:
    insert_all([Blob(sha256="a" * 64, media_type="text/plain", size=1)])
    changed = [
        Blob(sha256="a" * 64, media_type="text/html", size=2),
        Blob(sha256="b" * 64, media_type="text/html", size=2),
    ]
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_all(changed)
    assert Blob.objects.count() == 1
    insert_all(changed, ignore_conflicts=True)
    assert dict(Blob.objects.values_list("pk", "size")) == {"a" * 64: 1, "b" * 64: 2}


def test_nothing_asks_nothing(
    django_assert_num_queries: Callable[..., AbstractContextManager[object]],
) -> None:
    with django_assert_num_queries(0):
        insert_all([])


def test_the_transaction_holds_them() -> None:
    with transaction.atomic():
        insert_all([Blob(sha256="c" * 64, media_type="text/plain", size=1)])
        transaction.set_rollback(True)
    assert not Blob.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_row_may_name_one_that_comes_after_it() -> None:
    picture = Blob(sha256="a" * 64, media_type="image/png", size=1, thumbnail_id="b" * 64)
    thumbnail = Blob(sha256="b" * 64, media_type="image/webp", size=1)
    insert_all([picture, thumbnail], ignore_conflicts=True)
    assert Blob.objects.get(pk="a" * 64).thumbnail == thumbnail
    with pytest.raises(IntegrityError):
        insert_all([Blob(sha256=each * 64, media_type="a/b", size=1) for each in "cca"])
    assert Blob.objects.count() == 2
