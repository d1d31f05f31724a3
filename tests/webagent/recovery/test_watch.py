"""The live detectors: in time on what repeats exactly, silent on everything else."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.webagent.pages import observation, png
from webagent.recovery.anomalies import (
    Anomaly,
    Screens,
    Watch,
    find_false_completions,
    find_loops,
    what_was_done,
)
from webagent.recovery.retry_policy import Comparison, RecoveryPolicy
from webagent.trajectory.actions import ActionKind, parse_browsergym_actions

letters = st.sampled_from("abc")
kinds = st.sampled_from([ActionKind.CLICK, ActionKind.WAIT, ActionKind.MESSAGE])


def watched(
    history: Sequence[object], kinds: Sequence[ActionKind] | None = None, **policy: Any
) -> list[Anomaly]:
    """All anomalies that are told while these steps go by, none of them acted upon."""
    watch = Watch(RecoveryPolicy(**policy))
    of = kinds or [ActionKind.CLICK] * len(history)
    told = [watch.see(number, did, [of[number]]) for number, did in enumerate(history)]
    return [anomaly for anomaly in told if anomaly]


def test_it_fires_as_soon_as_the_shortest_window_repeats() -> None:
    assert watched("xy" + "a" * 15) == [Anomaly("loop", 2, 16, 1)]
    assert watched("xy" + "a" * 14) == []
    assert watched("xyz" + "ab" * 8)[0] == Anomaly("loop", 3, 18, 2)


def test_a_period_of_13_takes_a_window_of_26() -> None:
    history = "abcdefghijklm" * 3
    assert watched(history) == []
    assert watched(history, loop_longest=26)[0] == Anomaly("loop", 0, 25, 13)


@given(st.lists(st.integers(), unique=True, max_size=60))
def test_it_never_fires_where_nothing_repeats(history: list[int]) -> None:
    assert watched(history) == []


@given(st.lists(letters, max_size=60), st.integers(2, 8), st.integers(0, 10))
def test_what_it_tells_is_an_exact_repetition(history: list[str], shortest: int, more: int) -> None:
    for told in watched(history, loop_shortest=shortest, loop_longest=shortest + more):
        window = history[told.first : told.last + 1]
        assert shortest <= len(window) <= shortest + more
        assert len(window) >= 2 * told.period
        assert window == window[: told.period] * (len(window) // told.period)


@given(
    st.lists(letters | st.integers(100, 999), max_size=40),
    st.lists(st.sampled_from("abcdefghijkl"), min_size=1, max_size=12),
)
def test_it_fires_within_the_longest_window_of_a_true_loop(
    before: list[int], block: list[str]
) -> None:
    """Blocks of up to half the longest window, the most that can repeat in it."""
    loop = [block[step % len(block)] for step in range(25)]
    told = watched([*before, *loop])
    assert any(anomaly.last >= len(before) for anomaly in told)


@given(st.lists(letters, max_size=60), st.integers(2, 6), st.integers(0, 6))
def test_live_and_afterwards_agree(history: list[str], shortest: int, more: int) -> None:
    """The first step at which a loop is told is where the detector for imported runs finds one."""
    policy = RecoveryPolicy(loop_shortest=shortest, loop_longest=shortest + more)
    live = watched(history, loop_shortest=shortest, loop_longest=shortest + more)
    from_settings = Watch(policy)._settings
    afterwards = find_loops(history, from_settings)
    assert bool(live) == bool(afterwards)
    covered = {i for span in afterwards for i in range(span.first, span.last + 1)}
    assert covered == {i for told in live for i in range(told.first, told.last + 1)}


@given(st.lists(kinds, max_size=40), st.integers(2, 12))
def test_false_completions_live_and_afterwards_agree(of: list[ActionKind], at_least: int) -> None:
    numbers = list(range(len(of)))
    live = watched(numbers, of, false_completions=at_least, on_loop="ignore")
    idle = [kind is not ActionKind.CLICK for kind in of]
    first_told = {(told.first, told.first + at_least - 1) for told in live}
    spans = find_false_completions(idle, at_least)
    assert first_told == {(span.first, span.first + at_least - 1) for span in spans}


def test_exempt_waiting_neither_counts_nor_breaks() -> None:
    of = [ActionKind.MESSAGE, ActionKind.WAIT] * 11
    assert watched(range(22), of, waiting="exempt")[0] == Anomaly("false_completion", 0, 20, 1)
    assert watched("a" * 40, [ActionKind.WAIT] * 40, waiting="exempt") == []
    clicks = [ActionKind.CLICK, ActionKind.WAIT] * 15
    told = watched(
        ["a" if kind is ActionKind.CLICK else "w" for kind in clicks], clicks, waiting="exempt"
    )
    assert told[0] == Anomaly("loop", 0, 28, 1)


def test_what_is_ignored_is_not_told() -> None:
    assert watched("a" * 40, on_loop="ignore") == []
    of = [ActionKind.MESSAGE] * 12
    assert watched(range(12), of, on_false_completion="ignore") == []


def test_after_starting_anew_nothing_before_counts() -> None:
    watch = Watch(RecoveryPolicy())
    told = []
    for number in range(40):
        told.append(watch.see(number, "a", [ActionKind.CLICK]))
        if number == 13:
            watch.start_anew()
    assert [i for i, anomaly in enumerate(told) if anomaly][0] == 14 + 14


SCREENS = Screens()


def done(action: str, **changes: Any) -> object:
    seen = replace(observation(), **changes)
    return what_was_done(parse_browsergym_actions(action), seen, SCREENS)


def test_the_same_call_on_the_same_page_is_the_same_however_it_is_written() -> None:
    assert done("click('20')") == done("I try again.\nclick( '20' )  # once more")
    assert done("click('20')") != done("click('19')")
    assert done("click('20')") != done("click('20')", axtree="RootWebArea 'other'")
    assert done("no action at all") == done("no action at all")
    assert done("no action at all") != done("nor here")


def test_by_actions_alone_pages_make_no_difference() -> None:
    calls = parse_browsergym_actions("scroll(0, 200)")
    pages = [observation(), replace(observation(), axtree="RootWebArea 'other'")]
    done_there = {what_was_done(calls, page, SCREENS, Comparison.ACTIONS) for page in pages}
    assert len(done_there) == 1
    assert len({what_was_done(calls, page, SCREENS) for page in pages}) == 2


def test_scrolling_is_the_same_only_while_nothing_moves() -> None:
    moved = {"screenshot": png(100, 60, 9)}
    assert done("scroll(0, 200)") == done("scroll(0, 200)")
    assert done("scroll(0, 200)") != done("scroll(0, 200)", **moved)
    assert done("click('20')") == done("click('20')", **moved)
