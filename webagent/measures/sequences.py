"""Sequences: what two have in common, as `difflib` finds it within a bound of work; parts of one.

`difflib` takes the cube of the length at worst: where the same few items repeat, as in texts of
one word or runs that do the same step over and over.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, islice
from typing import Generic, Literal, NamedTuple, TypeVar

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
