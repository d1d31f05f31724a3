"""The addresses of rows are those that Django makes, wherever the site lies."""

from collections.abc import Iterator
from uuid import UUID

import pytest
from django.urls import reverse, set_script_prefix

from runs.interface.lists import row_address


@pytest.fixture(params=["/", "/lab0/"])
def site_path(request: pytest.FixtureRequest) -> Iterator[str]:
    set_script_prefix(request.param)
    yield request.param
    set_script_prefix("/")


@pytest.mark.parametrize(
    ("name", "key"),
    [("judging:dispute_detail", 17), ("runs:task_detail", 100), ("runs:run_preview", UUID(int=5))],
)
def test_it_is_the_address_of_the_row(site_path: str, name: str, key: UUID | int) -> None:
    made = row_address(name, key)
    assert made == reverse(name, args=[key])
    assert made.startswith(site_path)
