"""The order in which runs come to people."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest

from judging.studies.labels.assignment import choose_repeat, repeat_comes_next, repeats_due
from judging.studies.labels.open_runs import Candidate, OpenRuns, Places

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
EARLIER = datetime(2026, 11, 21, 9, tzinfo=UTC)


def order(candidates: list[Candidate], user_id: int = 1, seed: int = 5) -> list[int]:
    """As they are offered one after the other."""
    places = Places.for_person(seed=seed, user_id=user_id)
    fresh = [each for each in candidates if each.state is None]
    own = [each for each in candidates if each.state]
    offered: list[int] = []
    while True:
        least = min(fresh, key=lambda each: (each.taken, places.of(each.item_id)), default=None)
        first = OpenRuns(len(fresh), least, own).first(places)
        if first is None:
            return offered
        offered.append(first.item_id)
        fresh, own = ([each for each in some if each is not first] for some in (fresh, own))


def test_everyone_has_an_order_of_their_own_that_never_changes() -> None:
    many = [Candidate(pk, 0) for pk in range(40)]
    assert order(many, user_id=1) == order(many[::-1], user_id=1)
    assert order(many, user_id=1) != order(many, user_id=2)
    assert order(many, seed=5) != order(many, seed=6)
    assert sorted(order(many)) == list(range(40))


def test_an_order_stays_when_runs_leave_it() -> None:
    many = [Candidate(pk, 0) for pk in range(10)]
    first = order(many)
    assert order(many[:5]) == [pk for pk in first if pk < 5]


def test_neighbours_of_an_order_lie_apart_by_many_different_lengths() -> None:
    """As of items put in at random: a walk in equal steps might pass one agent's runs first."""
    places = Places.for_person(seed=5, user_id=1)
    walk = sorted(range(1000, 2000), key=places.of)
    assert len({after - before for before, after in pairwise(walk)}) > 500
    for kinds in (2, 3, 4, 7, 8):
        first = [item % kinds for item in walk[:200]]
        shares = [first.count(kind) * kinds / 200 for kind in range(kinds)]
        assert 0.4 < min(shares) <= max(shares) < 1.8


def test_the_least_labelled_comes_first() -> None:
    assert order([Candidate(1, 1), Candidate(2, 0), Candidate(3, 2)]) == [2, 1, 3]


def test_what_is_in_work_comes_before_everything_and_skipped_runs_last() -> None:
    candidates = [
        Candidate(1, 0, "skipped", n_skips=1, skipped_at=NOON),
        Candidate(2, 0, "skipped", n_skips=1, skipped_at=EARLIER),
        Candidate(3, 1),
        Candidate(4, 1, "leased"),
        Candidate(5, 1, "leased", held=True),
    ]
    assert order(candidates) == [5, 4, 3, 2, 1]


def test_a_run_skipped_twice_is_left_to_others_until_taken_up() -> None:
    assert order([Candidate(1, 0, "skipped", n_skips=2, skipped_at=NOON)]) == []
    assert order([Candidate(1, 0, "leased", n_skips=2)]) == [1]


@pytest.mark.parametrize(
    ("share", "labelled", "left", "repeated", "due"),
    [
        (0.0, 10, 0, 0, 0),
        (0.2, 5, 5, 0, 2),
        (0.2, 10, 0, 1, 1),
        (0.2, 10, 0, 2, 0),
        (0.1, 4, 0, 1, 0),
    ],
)
def test_repeats_are_a_share_of_all_runs(
    share: float, labelled: int, left: int, repeated: int, due: int
) -> None:
    assert repeats_due(share=share, labelled=labelled, left=left, repeated=repeated) == due


def test_repeats_come_only_among_the_last_runs_and_always_at_the_end() -> None:
    assert not repeat_comes_next(seed=1, user_id=1, left=5, due=2, given=0)
    assert repeat_comes_next(seed=1, user_id=1, left=0, due=2, given=0)
    assert not repeat_comes_next(seed=1, user_id=1, left=0, due=0, given=0)
    mixed = {repeat_comes_next(seed=1, user_id=1, left=2, due=2, given=n) for n in range(20)}
    assert mixed == {True, False}


def test_a_repeat_is_a_run_labelled_long_ago() -> None:
    chosen = {choose_repeat(list(range(10)), seed=seed, user_id=1) for seed in range(50)}
    assert chosen == {0, 1, 2, 3, 4}
    assert choose_repeat([7], seed=1, user_id=1) == 7
