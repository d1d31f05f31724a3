"""What is named and not held is a gap, however it came to that."""

from hypothesis import given
from hypothesis import strategies as st

from webagent.trajectory.intake import NOT_HELD, NOT_THERE, Inventory, problems_of

NAMES = st.lists(st.integers(0, 40), unique=True, max_size=30)


@given(named=NAMES, data=st.data(), most=st.integers(1, 40))
def test_named_is_held_plus_missing(named: list[int], data: st.DataObject, most: int) -> None:
    inventory = Inventory(most)
    kept, held = set(), set()
    for number in named:
        inventory.miss("screenshot", str(number))
        match data.draw(st.sampled_from(["silent", "lost", "kept", "kept and dropped"])):
            case "lost":
                inventory.miss("screenshot", str(number), data.draw(st.sampled_from(["a", "b"])))
            case "kept":
                inventory.keep("screenshot", str(number), f"hash {number}")
                kept.add(number)
                held.add(f"hash {number}")
            case "kept and dropped":
                inventory.keep("screenshot", str(number), f"hash {number}")
    gaps = inventory.gaps(held)
    assert len(named) == len(kept) + sum(gap.count or 1 for gap in gaps)
    assert len(list(problems_of(gaps, "run"))) == len(gaps) <= most + 1


def test_why_something_is_missing_is_told() -> None:
    inventory = Inventory(10)
    inventory.miss("step", "3")
    inventory.keep("screenshot", "a.png", "0" * 64)
    inventory.note("goal", "trace", "is not told")
    told = {(gap.what, gap.where): gap.why for gap in inventory.gaps(frozenset())}
    assert told == {
        ("step", "3"): NOT_THERE,
        ("screenshot", "a.png"): NOT_HELD,
        ("goal", "trace"): "is not told",
    }


def test_all_of_a_kind_are_one_gap_and_some_are_one_each() -> None:
    inventory = Inventory(10)
    for number in (0, 1, 2, 4, 3):
        inventory.miss("screenshot", f"{number}.png")
    (gap,) = inventory.gaps(frozenset())
    assert (gap.where, gap.count) == ("0.png … 4.png", 5)
    inventory.keep("screenshot", "5.png", "hash")
    assert [gap.count for gap in inventory.gaps({"hash"})] == [None] * 5


def test_numbers_that_are_left_out_are_missing() -> None:
    inventory = Inventory(10)
    inventory.numbered("step", "step", [2, None, 5], first=1)
    (gap,) = inventory.gaps(frozenset())
    assert (gap.where, gap.count) == ("step 1 … step 4", 3)
