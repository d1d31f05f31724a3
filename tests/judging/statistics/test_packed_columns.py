"""Counts that are added up several columns at a time."""

import numpy as np
import pytest

from judging.statistics.bootstrap import PackedColumns, resampled_totals


@pytest.mark.parametrize(("columns", "largest"), [(1, 1), (6, 5), (6, 40_000), (9, 2_000_000)])
def test_packed_columns_add_up_to_what_each_adds_up_to(columns, largest):
    draw = np.random.default_rng(columns)
    rows = draw.integers(0, largest + 1, size=(70, columns)).astype(float)
    rows[:, -1] = largest  # one column fills all the room that it has, and one needs none
    rows = np.column_stack([np.zeros(70), rows])
    chosen = draw.integers(70, size=(50, 70), dtype=np.uint32)
    packed = PackedColumns.of(rows)
    assert packed is not None
    assert np.array_equal(packed.sums(chosen), rows[chosen].sum(axis=1))


@pytest.mark.parametrize("value", [0.5, -1.0, 2.0**62])
def test_what_has_no_room_is_not_packed(value):
    assert PackedColumns.of(np.array([[1.0, value], [1.0, 1.0]])) is None


def test_resampled_sums_are_those_of_the_same_draws_one_by_one():
    """Whole numbers, which are packed, and thirds, which are not; in one block and in several."""
    for clusters, divisor in ((12, 1), (12, 3), (900, 1)):
        totals = np.random.default_rng(3).integers(0, 9, size=(clusters, 4)) / divisor
        found = resampled_totals(totals, seed=5, resamples=400)
        chosen = np.random.default_rng(5).integers(clusters, size=(400, clusters))
        kinds, times = np.unique(totals, axis=0, return_counts=True)
        in_order = np.repeat(kinds, times, axis=0)
        assert isinstance(found, np.ndarray)
        assert np.allclose(found, in_order[chosen].sum(axis=1), rtol=1e-12)
