"""The checker accepts every history of a correct store and finds what is planted in one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.history import Afterwards, Answer, Call, History, Kind, Rules, problems

pytestmark = pytest.mark.slow

RULES = Rules(
    successors={
        "queued": frozenset({"leased", "cancelled"}),
        "leased": frozenset({"running", "queued"}),
        "running": frozenset({"finished", "failed"}),
    },
    ends=frozenset({"finished", "failed", "cancelled"}),
)
ANSWERS = st.sampled_from(Answer)


@dataclass(frozen=True)
class World:
    """What clients saw of a store that kept every promise, and what it holds."""

    history: History
    after: Afterwards

    def found(self) -> set[str]:
        return {problem.what for problem in problems(self.history, self.after, RULES)}

    def storing(self, key: str, *values: str) -> World:
        """The same clients, but this is what is stored of the key."""
        return replace(
            self, after=replace(self.after, values={**self.after.values, key: list(values)})
        )


@st.composite
def correct(draw: st.DrawFn) -> World:
    """Calls of three kinds to a store that does what it says, answers lost at any moment."""
    history = History()
    values: dict[str, list[str]] = {}
    for number in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(Kind))
        key = f"{kind} {draw(st.integers(0, 2))}"
        call = history.ask(f"client {draw(st.integers(0, 2))}", kind, key, str(number))
        happens = draw(st.booleans())
        holds = values.setdefault(key, [])
        if kind is Kind.FIRST and holds:
            happens = False
        if happens:
            values[key] = [str(number)] if kind is Kind.SET else [*holds, str(number)]
        if draw(st.booleans()):
            history.answer(call, Answer.DONE if happens else Answer.REFUSED)
        elif draw(st.booleans()):
            history.answer(call, Answer.UNKNOWN)
    for run in range(draw(st.integers(0, 3))):
        path = draw(
            st.sampled_from(
                [
                    ["queued", "leased", "running", "finished"],
                    ["queued", "leased", "queued", "leased", "running", "failed"],
                    ["queued", "cancelled"],
                ]
            )
        )
        for state in path:
            if draw(st.booleans()):
                history.see(f"run {run}", state)
    blobs = frozenset(draw(st.lists(st.text("abc", min_size=1), max_size=3)))
    ends = {key: state for key, state in history.states if state in RULES.ends}
    return World(history, Afterwards(values, ends, blobs, blobs))


def acknowledged(world: World, *kinds: Kind) -> list[Call]:
    return [c for c in world.history.calls if c.answer is Answer.DONE and c.kind in kinds]


@given(correct())
def test_a_correct_store_is_never_accused(world: World) -> None:
    assert world.found() == set()


@given(correct(), st.data())
def test_a_lost_write_is_found(world: World, data: st.DataObject) -> None:
    for call in acknowledged(world, *Kind)[:1]:
        left = [v for v in world.after.values[call.key] if v != call.value]
        if call.kind is Kind.SET:
            left = []
        assert "lost" in world.storing(call.key, *left).found()


@given(correct())
def test_a_doubled_write_is_found(world: World) -> None:
    for key, stored in world.after.values.items():
        if stored:
            assert "doubled" in world.storing(key, *stored, [*stored][0]).found()


@given(correct(), st.text("xyz", min_size=1))
def test_a_write_that_nobody_asked_for_is_found(world: World, value: str) -> None:
    for key, stored in world.after.values.items():
        assert "never asked" in world.storing(key, *stored, value).found()


@given(correct())
def test_a_refused_write_that_is_there_is_found(world: World) -> None:
    for call in world.history.calls:
        if call.answer is Answer.REFUSED:
            stored = world.after.values[call.key]
            assert "refused but there" in world.storing(call.key, *stored, call.value).found()


@given(correct())
def test_blobs_without_rows_and_rows_without_blobs_are_found(world: World) -> None:
    more = world.after.blobs_named | {"planted"}
    orphan = replace(world, after=replace(world.after, blobs_stored=more))
    missing = replace(world, after=replace(world.after, blobs_named=more))
    assert (orphan.found(), missing.found()) == ({"orphan blob"}, {"missing blob"})


@pytest.mark.parametrize("state", ["queued", "leased", "running"])
@given(correct())
def test_what_has_not_ended_is_found(state: str, world: World) -> None:
    states = {**world.after.states, "another": state}
    assert replace(world, after=replace(world.after, states=states)).found() == {"not ended"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("finished", "running"),
        ("failed", "finished"),
        ("cancelled", "queued"),
        ("running", "leased"),
    ],
)
def test_a_state_that_may_not_follow_is_found(before: str, after: str) -> None:
    history = History()
    history.see("run", before)
    history.see("run", after)
    (found,) = problems(history, Afterwards({}), RULES)
    assert (found.what, found.key) == ("illegal state", "run")


def test_a_state_that_was_missed_is_no_illegal_one() -> None:
    history = History()
    history.see("run", "queued")
    assert problems(history, Afterwards({}, {"run": "finished"}), RULES) == []


def a_history(*calls: tuple[Kind, str, Answer]) -> History:
    """Calls to one key, each answered before the next is made."""
    history = History()
    for kind, value, answer in calls:
        history.answer(history.ask("c", kind, "key", value), answer)
    return history


def test_an_old_value_under_a_newer_acknowledged_one_is_found() -> None:
    history = a_history((Kind.SET, "old", Answer.DONE), (Kind.SET, "new", Answer.DONE))
    assert {p.what for p in problems(history, Afterwards({"key": ["old"]}))} == {"stale"}
    assert problems(history, Afterwards({"key": ["new"]})) == []


def test_of_two_writes_at_once_either_may_be_there() -> None:
    history = History()
    calls = [history.ask(client, Kind.SET, "key", client) for client in "ab"]
    for call in calls:
        history.answer(call, Answer.DONE)
    for value in "ab":
        assert problems(history, Afterwards({"key": [value]})) == []


def test_two_who_were_both_told_that_they_are_first_are_found() -> None:
    history = a_history((Kind.FIRST, "a", Answer.DONE), (Kind.FIRST, "b", Answer.DONE))
    assert "twice first" in {p.what for p in problems(history, Afterwards({"key": ["a"]}))}


def test_a_lost_answer_may_have_happened_but_once() -> None:
    history = a_history((Kind.ADD, "a", Answer.UNKNOWN))
    assert problems(history, Afterwards({"key": ["a"]})) == []
    assert problems(history, Afterwards({"key": []})) == []
    assert {p.what for p in problems(history, Afterwards({"key": ["a", "a"]}))} == {"doubled"}


def test_a_history_out_of_order_is_no_history() -> None:
    history = a_history((Kind.ADD, "a", Answer.DONE))
    history.calls[0].answered = 0
    assert {p.what for p in problems(history, Afterwards({"key": ["a"]}))} == {"disorder"}
