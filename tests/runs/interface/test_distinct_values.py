"""The values of a column without a look at every row."""

import pytest

from runs.interface.filters import distinct_values
from runs.models import Task
from tests.runs.factories import make_task

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("sites", [(), ("",), ("b",), ("b", "", "a", "b", "a", "c d'\"")])
def test_each_value_comes_once_in_order_and_empty_ones_do_not(sites: tuple[str, ...]) -> None:
    for site in sites:
        make_task(site=site)

    assert distinct_values(Task, "site", 9) == sorted({*sites} - {""})
    assert distinct_values(Task, "site", 1) == sorted({*sites} - {""})[:1]
