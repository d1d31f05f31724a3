"""Mechanical detectors over what an agent did: loops, and completion declared again and again.

Both follow the Preferred Networks study of retries for web agents (2026): an action sequence
that repeats exactly within a window of the last 15 to 25 steps, and 11 completion messages or
no-ops in a row. They look at executed actions and the page each was done on, so the same click
on changing pages is no loop.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """Steps `first`..`last`, counted from 0, both included. `period` is the block's length."""

    first: int
    last: int
    period: int


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """Windows of `shortest`..`longest` actions count as a loop if they repeat one block."""

    shortest: int = 15
    longest: int = 25

    def __post_init__(self) -> None:
        if not 2 <= self.shortest <= self.longest:
            raise ValueError("a loop's window needs 2 <= shortest <= longest")


def repeating_period(actions: Sequence[Hashable]) -> int | None:
    """Length of the shortest block whose repetition, at least twice, gives exactly the actions."""
    n = len(actions)
    for period in range(1, n // 2 + 1):
        if n % period == 0 and all(actions[i] == actions[i - period] for i in range(period, n)):
            return period
    return None


def loop_at_end(actions: Sequence[Hashable], settings: LoopSettings) -> Span | None:
    """The longest window at the end of the history that is a loop; None if there is none.

    This is the live detector: ask it after every step.
    """
    return _loop_before(len(actions), actions, settings)


def _loop_before(end: int, actions: Sequence[Hashable], settings: LoopSettings) -> Span | None:
    for length in range(min(settings.longest, end), settings.shortest - 1, -1):
        period = repeating_period(actions[end - length : end])
        if period is not None:
            return Span(end - length, end - 1, period)
    return None


def find_loops(
    actions: Sequence[Hashable], settings: LoopSettings | None = None
) -> tuple[Span, ...]:
    """All loops of a finished history, windows that touch being one loop."""
    settings = settings or LoopSettings()
    found: list[Span] = []
    for end in range(settings.shortest, len(actions) + 1):
        span = _loop_before(end, actions, settings)
        if span is None:
            continue
        if found and span.first <= found[-1].last + 1:
            found[-1] = Span(found[-1].first, span.last, min(span.period, found[-1].period))
        else:
            found.append(span)
    return tuple(found)


def find_false_completions(idle: Sequence[bool], at_least: int = 11) -> tuple[Span, ...]:
    """Stretches of `at_least` or more completion messages or no-ops without anything between.

    Args:
        idle: for each step, whether it was one of those.
    """
    found: list[Span] = []
    start: int | None = None
    for index, is_idle in enumerate([*idle, False]):
        if is_idle and start is None:
            start = index
        elif not is_idle and start is not None:
            if index - start >= at_least:
                found.append(Span(start, index - 1, 1))
            start = None
    return tuple(found)
