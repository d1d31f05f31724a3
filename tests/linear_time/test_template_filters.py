"""Filters of templates take linear time for values of every type, not for texts alone."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.template import engines

from tests.linear_time.growth import Sizes, size_grows_too_fast

SIZES = Sizes(500, 4_000)
# Exponents of amounts are bounded where these are read: `test_amounts`.
VALUES: dict[str, Callable[[int], Any]] = {
    "whole number": lambda n: 10**n,
    "amount": lambda n: Decimal("9" * n),
    "list": lambda n: [*range(n)],
    "mapping": lambda n: {f"key{i}": i for i in range(n)},
    "set": lambda n: {*range(n)},
    "texts": lambda n: ["a"] * n,
    "bytes": lambda n: b"\xff" * n,
    "nested": lambda n: [[]] * n,
    "moments": lambda n: [datetime(2, 1, 1, tzinfo=UTC)] * n,
}


def _filters() -> dict[str, Callable[..., Any]]:
    """Those of the project's own libraries."""
    libraries = engines["django"].engine.template_libraries.values()  # type: ignore[attr-defined]
    return {
        name: function
        for library in libraries
        for name, function in library.filters.items()
        if function.__module__.startswith(("runs.", "judging."))
    }


@pytest.mark.parametrize("name", _filters())
@pytest.mark.slow
def test_a_filter_of_templates_takes_linear_time(name: str) -> None:
    def shown(value: Any) -> None:
        with suppress(Exception):  # a template shows nothing then; its work counts
            str(_filters()[name](value))

    for kind, make in VALUES.items():
        assert size_grows_too_fast(shown, make, SIZES) is None, kind


def test_filters_of_templates_are_found() -> None:
    assert {"duration", "money", "moment", "points"} <= _filters().keys()
