"""What an errand is made of: the way to a page, what to read there, and how to put it."""

from collections.abc import Callable
from dataclasses import dataclass

Lines = tuple[str, ...]
Reader = Callable[[Lines], str]


@dataclass(frozen=True, slots=True)
class Move:
    """One thing to do on the way: press the named link or button, or fill the named field."""

    name: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Errand:
    """How to serve one instruction: the way there, what to read, and how to put it."""

    way: tuple[Move, ...]
    read: Reader
    sentence: str
    careless: Reader
    careless_way: tuple[Move, ...] | None = None


def done(way: tuple[Move, ...], report: str, careless_way: tuple[Move, ...]) -> Errand:
    """An errand that is done rather than answered; who is careless reports the same."""
    return Errand(way, says(report), "{}", says(report), careless_way)


def after(label: str, *, within: str | None = None, skip: int = 0) -> Reader:
    """Reads the line that follows a label, below a heading if one is given."""

    def read(lines: Lines) -> str:
        start = lines.index(within) if within else 0
        return lines[lines.index(label, start) + 1 + skip]

    return read


def says(text: str) -> Reader:
    """Always says the same: for instructions that are done rather than answered."""
    return lambda lines: text


def press(*names: str) -> tuple[Move, ...]:
    """One press after the other."""
    return tuple(Move(name) for name in names)
