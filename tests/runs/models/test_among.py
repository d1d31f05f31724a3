"""The lookup `among` finds what `in` finds, for lists of any length."""

from uuid import uuid4

import pytest

from runs.models import Blob, Run, Step
from tests.runs.factories import make_run
from tests.runs.storage.stores import store_blob

pytestmark = pytest.mark.django_db


def test_it_finds_what_in_finds():
    runs = [make_run(pictures=False) for _ in range(3)]
    two = [run.pk for run in runs[:2]]
    assert set(Run.objects.filter(pk__among=two)) == set(runs[:2])
    assert set(Run.objects.filter(pk__among=map(str, two))) == set(runs[:2])
    assert set(Run.objects.exclude(pk__among=set(two))) == {runs[2]}
    assert set(Run.objects.filter(task__among=[runs[2].task_id])) == {runs[2]}
    assert not Run.objects.filter(pk__among=[]).exists()
    steps = Step.objects.filter(run__among=two)
    assert set(steps) == set(Step.objects.filter(run__in=two))
    assert set(Step.objects.filter(run__task__among=[runs[0].task_id]).values_list("run")) == {
        (runs[0].pk,)
    }


@pytest.mark.slow
def test_hashes_and_more_values_than_a_database_takes_parameters():
    blob, run = store_blob(b"here", "text/plain"), make_run(pictures=False)
    assert set(Blob.objects.filter(pk__among=["0" * 64, blob.pk])) == {blob}
    many = [run.pk, *(uuid4() for _ in range(300_000))]
    assert Run.objects.filter(pk__among=many).get() == run
