"""Measures that all parts share: intervals of shares; what two sequences have in common.

Sequences are compared as `difflib` does it, within a bound of work: it takes the cube of the length
at worst, where the same few items repeat, as in texts of one word or runs that do the same step
over and over.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, islice
from math import sqrt
from statistics import NormalDist
from typing import Generic, Literal, NamedTuple, TypeVar


def normal_quantile(level: float) -> float:
    """Half-width in standard deviations that holds `level` of a normal distribution (1.96: 95 %).

    Raises:
        ValueError: level is not strictly between 0 and 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, not at {level}")
    return NormalDist().inv_cdf((1 + level) / 2)


def wilson_bounds(count: int, total: int, level: float = 0.95) -> tuple[float, float]:
    """Low and high end of the Wilson score interval, without continuity correction.

    (p + z²/2n ± z·sqrt(p(1−p)/n + z²/4n²)) / (1 + z²/n), with p = count/total, n = total.

    Raises:
        ValueError: `count` of `total` is no share, or there is nothing to take a share of.

    Source: Wilson (1927), Journal of the American Statistical Association 22.
    """
    if not 0 <= count <= total or not total:
        raise ValueError(f"{count} of {total} is no share")
    z = normal_quantile(level)
    share = count / total
    middle = share + z * z / (2 * total)
    half = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    # At the ends the formula gives 0 and 1 exactly; floating point may miss them by a hair.
    low = 0.0 if count == 0 else max(0.0, (middle - half) / scale)
    high = 1.0 if count == total else min(1.0, (middle + half) / scale)
    return low, high


Item = TypeVar("Item", bound=Hashable)
Found = TypeVar("Found")
MOST_PAIRS = 3_000_000
"""Pairs of equal items that are looked at; what is left beyond it counts as different."""


class Block(NamedTuple):
    """`size` items that are equal, from `a` in the one sequence and from `b` in the other."""

    a: int
    b: int
    size: int


class Piece(NamedTuple):
    """A stretch of both sequences, as in `SequenceMatcher.get_opcodes`."""

    tag: Literal["equal", "replace", "delete", "insert"]
    a_start: int
    a_end: int
    b_start: int
    b_end: int


class Compared(list[Found], Generic[Found]):
    """What a comparison found.

    Attributes:
        is_whole: whether all was compared; else what is left counts as different.
    """

    def __init__(self, found: Iterable[Found] = (), *, is_whole: bool = True) -> None:
        super().__init__(found)
        self.is_whole = is_whole


def common_blocks(a: Sequence[Hashable], b: Sequence[Hashable]) -> Compared[Block]:
    """Equal stretches in order, the longest found first."""
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    times = Counter(b)
    pairs = [0, *accumulate(times[item] for item in a)]
    left = MOST_PAIRS
    blocks: list[Block] = []
    waiting = [(0, len(a), 0, len(b))]
    while waiting:
        a_start, a_end, b_start, b_end = waiting.pop()
        left -= pairs[a_end] - pairs[a_start] + a_end - a_start
        if left < 0:
            break
        found = matcher.find_longest_match(a_start, a_end, b_start, b_end)
        if not found.size:
            continue
        blocks.append(Block(*found))
        a_after, b_after = found.a + found.size, found.b + found.size
        if a_start < found.a and b_start < found.b:
            waiting.append((a_start, found.a, b_start, found.b))
        if a_after < a_end and b_after < b_end:
            waiting.append((a_after, a_end, b_after, b_end))
    return Compared(sorted(blocks), is_whole=left >= 0)


def pieces(a: Sequence[Hashable], b: Sequence[Hashable]) -> Compared[Piece]:
    """Both sequences from beginning to end, equal and different stretches in turn."""
    blocks = common_blocks(a, b)
    found: Compared[Piece] = Compared(is_whole=blocks.is_whole)
    a_at = b_at = 0
    for block in [*blocks, Block(len(a), len(b), 0)]:
        if a_at < block.a and b_at < block.b:
            found.append(Piece("replace", a_at, block.a, b_at, block.b))
        elif a_at < block.a:
            found.append(Piece("delete", a_at, block.a, b_at, block.b))
        elif b_at < block.b:
            found.append(Piece("insert", a_at, block.a, b_at, block.b))
        a_at, b_at = block.a + block.size, block.b + block.size
        if block.size:
            last = found[-1] if found else None
            if last and last.tag == "equal":  # two blocks that touch are one stretch
                found[-1] = Piece("equal", last.a_start, a_at, last.b_start, b_at)
            else:
                found.append(Piece("equal", block.a, a_at, block.b, b_at))
    return found


def likeness(a: Sequence[Hashable], b: Sequence[Hashable]) -> float:
    """The share of items that both have in common, from 0 to 1, as `SequenceMatcher.ratio`."""
    length = len(a) + len(b)
    return 2 * sum(block.size for block in common_blocks(a, b)) / length if length else 1.0


def first_repeated(items: Iterable[Item]) -> Item | None:
    """The first item that occurs more than once; None if none does."""
    return next((item for item, times in Counter(items).items() if times > 1), None)


def batched(items: Iterable[Found], size: int) -> Iterator[list[Found]]:
    """The items in order, so many at a time, as `itertools.batched` of Python 3.12 gives them."""
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch
