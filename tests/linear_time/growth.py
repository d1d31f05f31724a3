"""How the work that a text causes grows with its length, as a ratio of two measurements.

Processor time of one thread is measured at two lengths in the same process, where it is more than
nothing at the longer one. Speed of the machine cancels out: only the growth of the cost per
character is looked at.
"""

import gc
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

# Quadratic work grows sixteen-fold per character from a length to the other.
SHORT, LONG = 250, 4_000
# The second look: beyond the bounds of a pattern, `{0,500}`.
FAR_SHORT, FAR_LONG = 4 * SHORT, 4 * LONG
# The third look: beyond the bounds up to which functions may do more than linear work.
SHORTER, LONGER = 12_500, 200_000
# Cost per character may grow this much.
ALLOWED_GROWTH = 3.0
# What grows by items has a constant part, which hides growth.
ALLOWED_GROWTH_OF_SIZES = 2.0
# Work ends when its growth is beyond what is allowed, whatever a clock of ticks may miss.
ENDED_BEYOND = 1.5
# Below this the clock and the cost of a call say more than the work does.
NEGLIGIBLE_S = 0.000_2
# Whether it is, texts of a fourth of the length show: quadratic work is far more than that.
AT_A_GLANCE = 4
# So much more a character may cost there than at `SHORT`, or both lengths are measured.
GROWTH_AT_A_GLANCE = 1.1
CLOCK_TICKS_S = 0.01
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
Given = TypeVar("Given")


class Sizes(NamedTuple):
    """Two sizes of something that grows."""

    short: int
    long: int


def grows_too_fast(
    work: Work, texts: Iterable[Hostile], *, up_to_a_bound: bool = False
) -> str | None:
    """In words how the cost per character of the first such text grows, None where none does.

    Args:
        up_to_a_bound: more than linear work is allowed on texts shorter than `SHORTER`.
    """
    looks = [(SHORT, LONG, 1), (FAR_SHORT, FAR_LONG, 1), (FAR_SHORT, FAR_LONG, 5)]
    if up_to_a_bound:
        looks += [(SHORTER, LONGER, 1), (SHORTER, LONGER, 3)]
    for text in _noticed(work, texts):
        for look in looks:
            growth = _growth(work, text, *look)
            if growth <= ALLOWED_GROWTH:
                break
        else:
            return f"{text}: {growth:.1f} times per character"
    return None


def size_grows_too_fast(
    work: Callable[[Given], object], make: Callable[[int], Given], sizes: Sizes
) -> str | None:
    """The same for anything that `make` makes in a size; making it is not measured."""
    short, long = make(sizes.short), make(sizes.long)
    for tries in (1, 1, 3):
        growth = _growth_between(
            work, (short, long), sizes, tries, ALLOWED_GROWTH_OF_SIZES, 10 * HARD_BOUND_S
        )
        if growth <= ALLOWED_GROWTH_OF_SIZES:
            return None
    return f"{growth:.1f} times per item from {sizes.short} to {sizes.long} items"


def _noticed(work: Work, texts: Iterable[Hostile]) -> Iterator[Hostile]:
    """Those texts that are to be measured at two lengths: most are too little work, or even."""
    with _hard_bound(HARD_BOUND_S):
        for text in texts:
            try:
                noticed = _is_noticed(work, text)
            except TooMuchWorkError:
                noticed = True
            if noticed:
                yield text


def _is_noticed(work: Work, text: Hostile) -> bool:
    """Raises TooMuchWorkError, also where the time is up just as the work ends."""
    glance = LONG // AT_A_GLANCE
    negligible = NEGLIGIBLE_S / AT_A_GLANCE
    costs = []
    signal.setitimer(signal.ITIMER_VIRTUAL, negligible + CLOCK_TICKS_S)
    try:
        for length in (glance, SHORT):
            given = text.of_length(length)
            begun = _processor_time()
            work(given)
            costs.append(_processor_time() - begun)
            if costs[0] < negligible:
                return False
        return costs[0] > costs[1] * GROWTH_AT_A_GLANCE * glance / SHORT
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _growth(work: Work, text: Hostile, shorter: int, longer: int, tries: int) -> float:
    texts = text.of_length(shorter), text.of_length(longer)
    return _growth_between(work, texts, Sizes(shorter, longer), tries, ALLOWED_GROWTH, HARD_BOUND_S)


def _growth_between(
    work: Callable[[Given], object],
    given: tuple[Given, Given],
    sizes: Sizes,
    tries: int,
    allowed: float,
    bound_s: float,
) -> float:
    longer = sizes.long / sizes.short
    try:
        short = _cost(work, given[0], tries, bound_s / longer)
        at_most = max(short, NEGLIGIBLE_S) * allowed * ENDED_BEYOND * longer
        long = _cost(work, given[1], tries, min(at_most, bound_s))
    except TooMuchWorkError:
        return float("inf")
    return 1.0 if long < NEGLIGIBLE_S else long / short / longer


def _cost(work: Callable[[Given], object], given: Given, tries: int, at_most_s: float) -> float:
    """The least of some tries: one that the machine disturbed does not count.

    Where the first is ended there is no other: a look before was ended as well.
    """
    costs: list[float] = []
    for _ in range(tries):
        try:
            costs.append(_seconds(work, given, at_most_s))
        except TooMuchWorkError:
            if not costs:
                break
    if not costs:
        raise TooMuchWorkError
    return min(costs)


def _seconds(work: Callable[[Given], object], given: Given, at_most_s: float) -> float:
    with _hard_bound(at_most_s):
        begun = _processor_time()
        work(given)
        return max(_processor_time() - begun, 1e-7)


def _processor_time() -> float:
    """Of this thread, and of processes that it started and that have ended."""
    children = os.times()
    return time.thread_time() + children.children_user + children.children_system


@contextmanager
def _hard_bound(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooMuchWorkError

    before = signal.signal(signal.SIGVTALRM, stop)
    # Collecting the garbage of the whole process is no work of the text.
    collects = gc.isenabled()
    gc.disable()
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if collects:
            gc.enable()
        signal.signal(signal.SIGVTALRM, before)
