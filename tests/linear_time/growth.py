"""How the work that a text causes grows with its length, as a ratio of two measurements.

Processor time of one thread is measured at two lengths in the same process. Speed of the machine
cancels out: only the growth of the cost per character is looked at.
"""

import gc
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

SHORT, LONG = 500, 4_000
# The second look, beyond the bounds up to which more than linear work is allowed.
SHORTER, LONGER = 25_000, 200_000
# Cost per character may grow this much over eight times the length; quadratic work grows 8-fold.
ALLOWED_GROWTH = 3.0
# Below this the clock and the cost of a call say more than the work does.
NEGLIGIBLE_S = 0.000_2
# Ends work that would not end by itself: linear work at these lengths takes milliseconds.
HARD_BOUND_S = 2.0


class TooMuchWorkError(BaseException):
    """The hard bound ended the work; no handler of errors in the work stops it."""


@dataclass(frozen=True)
class Hostile:
    """A text of any length: `unit` repeated between `before` and `after`."""

    before: str
    unit: str
    after: str

    def of_length(self, length: int) -> str:
        return self.before + self.unit * (length // len(self.unit)) + self.after

    def __str__(self) -> str:
        return f"{self.before!r} + {self.unit!r} * n + {self.after!r}"


Work = Callable[[str], object]


def grows_too_fast(work: Work, text: Hostile, *, up_to_a_bound: bool = False) -> str | None:
    """In words how the cost per character grows, None where it does not.

    Args:
        up_to_a_bound: more than linear work is allowed on texts shorter than `SHORTER`.
    """
    looks = [(SHORT, LONG, 1), (SHORT, LONG, 5)]
    if up_to_a_bound:
        looks += [(SHORTER, LONGER, 1), (SHORTER, LONGER, 3)]
    for look in looks:
        growth = _growth(work, text, *look)
        if growth <= ALLOWED_GROWTH:
            return None
    return f"{text}: {growth:.1f} times per character"


def _growth(work: Work, text: Hostile, shorter: int, longer: int, tries: int) -> float:
    try:
        short = _cost(work, text.of_length(shorter), tries, HARD_BOUND_S)
        at_most = max(short, NEGLIGIBLE_S) * ALLOWED_GROWTH * 2 * longer / shorter
        long = _cost(work, text.of_length(longer), tries, min(at_most, HARD_BOUND_S))
    except TooMuchWorkError:
        return float("inf")
    return 1.0 if long < NEGLIGIBLE_S else long / short / (longer / shorter)


def _cost(work: Work, text: str, tries: int, at_most_s: float) -> float:
    return min(_seconds(work, text, at_most_s) for _ in range(tries))


def _seconds(work: Work, text: str, at_most_s: float) -> float:
    with _hard_bound(at_most_s):
        begun = time.thread_time()
        work(text)
        return max(time.thread_time() - begun, 1e-7)


@contextmanager
def _hard_bound(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooMuchWorkError

    before = signal.signal(signal.SIGVTALRM, stop)
    # Collecting the garbage of the whole process is no work of the text.
    gc.disable()
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        gc.enable()
        signal.signal(signal.SIGVTALRM, before)
