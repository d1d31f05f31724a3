"""The detectors fire on exact repetition, in time, and on nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webagent.recovery.anomalies import (
    LoopSettings,
    Span,
    find_false_completions,
    find_loops,
    loop_at_end,
    repeating_period,
)

DEFAULT = LoopSettings()
letters = st.sampled_from("abcdef")


def test_one_action_fifteen_times_is_a_loop() -> None:
    assert find_loops("a" * 15) == (Span(0, 14, 1),)


def test_one_action_fourteen_times_is_none_yet() -> None:
    assert find_loops("a" * 14) == ()


def test_going_to_and_fro_is_a_loop_of_period_two() -> None:
    assert find_loops("xyz" + "ab" * 8) == (Span(3, 18, 2),)


def test_loop_spans_all_steps_that_repeat() -> None:
    assert find_loops("xy" + "a" * 40 + "z") == (Span(2, 41, 1),)


def test_two_loops_apart_are_two() -> None:
    assert find_loops("a" * 15 + "uvw" + "b" * 16) == (Span(0, 14, 1), Span(18, 33, 1))


def test_block_longer_than_half_the_window_is_no_loop() -> None:
    assert find_loops("abcdefghijklm" * 2) == ()


def test_same_action_on_changing_pages_is_no_loop() -> None:
    assert find_loops([("click", page) for page in range(30)]) == ()


@given(st.lists(letters, max_size=60), st.integers(2, 8), st.integers(0, 10))
def test_every_reported_window_really_repeats(actions: list[str], shortest: int, more: int) -> None:
    settings = LoopSettings(shortest, shortest + more)
    for end in range(len(actions) + 1):
        span = loop_at_end(actions[:end], settings)
        if span is not None:
            window = actions[span.first : span.last + 1]
            assert settings.shortest <= len(window) <= settings.longest
            assert len(window) % span.period == 0
            assert len(window) >= 2 * span.period
            block = window[: span.period]
            assert window == block * (len(window) // span.period)


@given(st.integers(0, 60))
def test_never_fires_where_nothing_repeats(length: int) -> None:
    assert find_loops(range(length)) == ()


@given(st.lists(st.integers(100, 199), max_size=20), st.lists(letters, min_size=1, max_size=12))
def test_fires_within_the_longest_window_of_a_true_loop(
    before: list[int], block: list[str]
) -> None:
    history: list[object] = [*before]
    for step in range(DEFAULT.longest):
        history.append(block[step % len(block)])
        if loop_at_end(history, DEFAULT):
            return
    raise AssertionError("a loop went on for the longest window and nobody noticed")


def test_period_of_nothing_is_none() -> None:
    assert repeating_period("") is None
    assert repeating_period("a") is None


@pytest.mark.parametrize(("shortest", "longest"), [(1, 5), (9, 8)])
def test_senseless_windows_are_refused(shortest: int, longest: int) -> None:
    with pytest.raises(ValueError, match="shortest"):
        LoopSettings(shortest, longest)


def test_eleven_idle_steps_are_a_false_completion() -> None:
    idle = [False] + [True] * 11 + [False] + [True] * 10
    assert find_false_completions(idle) == (Span(1, 11, 1),)


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 15))
def test_false_completions_are_exactly_the_long_idle_stretches(
    idle: list[bool], at_least: int
) -> None:
    covered = {
        i
        for span in find_false_completions(idle, at_least)
        for i in range(span.first, span.last + 1)
    }
    for index, is_idle in enumerate(idle):
        left = right = index
        while is_idle and left > 0 and idle[left - 1]:
            left -= 1
        while is_idle and right + 1 < len(idle) and idle[right + 1]:
            right += 1
        assert (index in covered) == (is_idle and right - left + 1 >= at_least)
