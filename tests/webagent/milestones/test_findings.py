"""Findings and the progress that they make."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webagent.milestones.findings import OUT_OF_ORDER, Definition, Finding, in_order, track

N_STEPS = 12


@st.composite
def findings(draw: st.DrawFn, name: str = "m") -> Finding:
    """Any finding over a run of N_STEPS steps, lost and regained as often as may be."""
    edges = sorted(draw(st.sets(st.integers(0, N_STEPS - 1), max_size=6)))
    pairs: list[tuple[int, int | None]] = [
        (edges[i], edges[i + 1] if i + 1 < len(edges) else None) for i in range(0, len(edges), 2)
    ]
    if not pairs:
        return Finding(name=name)
    (start, end), *later = pairs
    return Finding(name=name, achieved_at=start, lost_at=end, regained=tuple(later))


@st.composite
def rated(draw: st.DrawFn) -> tuple[list[Finding], dict[str, float]]:
    names = draw(st.lists(st.text("abc", min_size=1, max_size=3), unique=True, min_size=1))
    weights = {name: draw(st.floats(0.001, 1000) | st.integers(1, 9).map(float)) for name in names}
    return [draw(findings(name)) for name in names], weights


def ordered(*names: str) -> list[Definition]:
    return [Definition(name=name, is_ordered=True) for name in names]


def test_progress_is_the_share_of_the_weight():
    found = [
        Finding(name="opened", achieved_at=1),
        Finding(name="filled", achieved_at=2, lost_at=4),
        Finding(name="sent"),
    ]
    progress = track(found, {"opened": 1, "filled": 2, "sent": 1}, 6)
    assert (progress.maximum, progress.final, progress.is_success) == (75, 25, False)
    assert progress.by_step == (0, 25, 75, 75, 25, 25)


def test_what_is_regained_counts_again():
    found = Finding(name="a", achieved_at=1, lost_at=2, regained=((3, 4), (5, None)))
    assert track([found], {"a": 3}, 6).by_step == (0, 100, 0, 100, 0, 100)
    assert found.spans[-1][1] is None


def test_a_run_without_steps_has_no_progress():
    progress = track([], {"a": 1}, 0)
    assert (progress.by_step, progress.maximum, progress.final) == ((), 0, 0)


@pytest.mark.parametrize(
    ("found", "weights"),
    [
        ([], {}),
        ([], {"a": 0.0}),
        ([], {"a": -1.0, "b": 2.0}),
        ([], {"a": float("nan")}),
        ([], {"a": float("inf")}),
        ([Finding(name="b")], {"a": 1.0}),
        ([Finding(name="a"), Finding(name="a")], {"a": 1.0}),
        ([Finding(name="a", achieved_at=3)], {"a": 1.0}),
        ([Finding(name="a", achieved_at=0, lost_at=3)], {"a": 1.0}),
    ],
)
def test_what_makes_no_sense_is_refused(found: list[Finding], weights: dict[str, float]):
    with pytest.raises(ValueError, match="."):
        track(found, weights, 3)


@pytest.mark.parametrize(
    "spans",
    [
        {"lost_at": 3},
        {"achieved_at": 3, "lost_at": 3},
        {"achieved_at": 3, "lost_at": 2},
        {"achieved_at": 1, "regained": ((2, None),)},
        {"achieved_at": 1, "lost_at": 4, "regained": ((3, None),)},
    ],
)
def test_spans_that_overlap_are_refused(spans: dict[str, object]):
    with pytest.raises(ValueError, match="a: "):
        Finding(name="a", **spans)  # type: ignore[arg-type]


@given(rated())
def test_progress_lies_between_its_bounds(case: tuple[list[Finding], dict[str, float]]):
    found, weights = case
    progress = track(found, weights, N_STEPS)
    assert all(0 <= rate <= 100 for rate in progress.by_step)
    assert progress.maximum == max(progress.by_step)
    assert progress.final == progress.by_step[-1]
    assert progress.is_success == all(one.spans and one.spans[-1][1] is None for one in found)


@given(rated())
def test_without_losses_progress_never_falls(case: tuple[list[Finding], dict[str, float]]):
    found, weights = case
    kept = [Finding(name=one.name, achieved_at=one.achieved_at) for one in found]
    progress = track(kept, weights, N_STEPS)
    assert list(progress.by_step) == sorted(progress.by_step)
    assert progress.maximum == progress.final


@given(rated(), st.integers(1, N_STEPS))
def test_truncation_looks_at_nothing_later(
    case: tuple[list[Finding], dict[str, float]], n_steps: int
):
    found, weights = case
    whole = track(found, weights, N_STEPS)
    seen = [
        Finding(name=one.name)
        if one.achieved_at is None or one.achieved_at >= n_steps
        else Finding(
            name=one.name,
            achieved_at=one.achieved_at,
            lost_at=one.lost_at if one.lost_at is not None and one.lost_at < n_steps else None,
            regained=tuple(
                (start, end if end is not None and end < n_steps else None)
                for start, end in one.regained
                if start < n_steps
            ),
        )
        for one in found
    ]
    assert track(seen, weights, n_steps).by_step == whole.by_step[:n_steps]


class TestOrder:
    def test_what_comes_in_order_counts(self):
        found = (Finding(name="a", achieved_at=1), Finding(name="b", achieved_at=1))
        assert in_order(found, ordered("a", "b")) == found

    def test_what_comes_too_early_does_not(self):
        found = [Finding(name="a", achieved_at=4), Finding(name="b", achieved_at=3, rationale="r")]
        _, late = in_order(found, ordered("a", "b"))
        assert (late.achieved_at, late.rationale) == (None, f"r ({OUT_OF_ORDER})")

    def test_it_counts_from_where_it_comes_again(self):
        found = [
            Finding(name="a", achieved_at=4),
            Finding(name="b", achieved_at=1, lost_at=2, regained=((5, None),)),
        ]
        _, again = in_order(found, ordered("a", "b"))
        assert again.spans == ((5, None),)

    def test_nothing_follows_on_what_was_never_reached(self):
        found = [Finding(name="a"), Finding(name="b", achieved_at=1), Finding(name="c")]
        assert [one.achieved_at for one in in_order(found, ordered("a", "b", "c"))] == [None] * 3

    def test_nothing_follows_on_what_nobody_spoke_of(self):
        found = [Finding(name="b", achieved_at=1)]
        assert in_order(found, ordered("a", "b"))[0].achieved_at is None

    def test_that_the_first_is_lost_later_takes_nothing_away(self):
        found = (Finding(name="a", achieved_at=1, lost_at=2), Finding(name="b", achieved_at=3))
        assert in_order(found, ordered("a", "b")) == found

    def test_those_without_order_stand_aside(self):
        loose = Definition(name="b")
        found = (Finding(name="a", achieved_at=4), Finding(name="b", achieved_at=1))
        assert in_order(found, [*ordered("a"), loose]) == found

    @given(st.data())
    def test_what_is_left_is_in_order(self, data: st.DataObject):
        names = ["a", "b", "c", "d"]
        found = [data.draw(findings(name)) for name in names]
        left = in_order(found, ordered(*names))
        reached = [one.achieved_at for one in left]
        known = [step for step in reached if step is not None]
        assert known == sorted(known)
        assert reached == [*known, *([None] * (len(names) - len(known)))]
        for before, after in zip(found, left, strict=True):
            assert set(after.spans) <= set(before.spans)
        assert in_order(left, ordered(*names)) == left
