"""The order in which a study's runs come to one annotator. No query, no clock.

Everybody has an order of their own, so that tiredness and learning do not fall on the same
runs; it follows from the study's seed and the person alone, so that it never jumps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from judging.models import Assignment

MAX_SKIPS = 2
"""A run skipped this often is left to the others; its annotator may still take it up."""


class Candidate(NamedTuple):
    """A run that still needs a label which this person may give.

    Attributes:
        taken: labels given plus assignments that others hold now.
        state: of the person's own assignment (leased, submitted, skipped); None where it never
            was assigned.
        held: the person's own lease on it still runs.
        skipped_at: when it was skipped last; None where never.
    """

    item_id: int
    taken: int
    state: str | None = None
    held: bool = False
    n_skips: int = 0
    skipped_at: datetime | None = None


def shuffle_key(seed: int, user_id: int, number: int, purpose: str) -> int:
    """A number that is stable for one person and purpose, and unlike any other person's."""
    text = f"{seed}:{user_id}:{number}:{purpose}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


PRIME = 2**31 - 1
PLACE = (
    f"(((item.id %% {PRIME}) * (item.id %% {PRIME})) %% {PRIME} * %(square)s"
    f" + (item.id %% {PRIME}) * %(line)s + %(start)s) %% {PRIME}"
)
"""`Places.of` as the database works it out, for parameters of those names."""


class Places(NamedTuple):
    """One person's order of a study's items, as a number for each: small ones come first.

    A polynomial modulo a prime, so that a database finds the first of thousands by itself. Of the
    second degree: one of the first would go through the items in steps of a few lengths, and so
    perhaps through all runs of one agent first. All in between is less than 2**63.
    """

    square: int
    line: int
    start: int

    @classmethod
    def for_person(cls, *, seed: int, user_id: int) -> Places:
        """Follows from the study's seed and the person alone."""
        drawn = hashlib.blake2b(f"{seed}:{user_id}:order".encode(), digest_size=12).digest()
        square, line, start = (int.from_bytes(drawn[at : at + 4], "big") for at in (0, 4, 8))
        return cls(square % 2**30 + 1, line % 2**30, start % PRIME)

    def of(self, item_id: int) -> int:
        """Where the item stands."""
        number = item_id % PRIME
        return (number * number % PRIME * self.square + number * self.line + self.start) % PRIME


@dataclass(frozen=True, slots=True)
class OpenRuns:
    """The runs of a study that one person may still label and that others do not fill.

    Attributes:
        n_fresh: how many were never assigned to the person.
        next_fresh: the first of those in the person's order, the least labelled first.
        own: those that were assigned to them.
    """

    n_fresh: int = 0
    next_fresh: Candidate | None = None
    own: list[Candidate] = field(default_factory=list)

    def offered(self) -> Iterable[Candidate]:
        """The person's own that still come by themselves: none that was skipped too often."""
        leased = Assignment.State.LEASED
        return (each for each in self.own if each.n_skips < MAX_SKIPS or each.state == leased)

    def left_alone(self) -> set[Candidate]:
        """Those that were skipped too often."""
        return set(self.own).difference(self.offered())

    def first(self, places: Places) -> Candidate | None:
        """The one to offer now.

        First what the person has in work, then the least labelled, and last what they skipped, the
        longest ago first.
        """
        own = sorted(self.offered(), key=lambda each: (*_turn(each), places.of(each.item_id)))
        if own and own[0].state == Assignment.State.LEASED:
            return own[0]
        return self.next_fresh or (own[0] if own else None)

    def without_next(self) -> OpenRuns:
        """As it is once the first of the fresh ones is in the person's hands."""
        if self.next_fresh is None:
            return self
        taken = self.next_fresh._replace(state=Assignment.State.LEASED, held=True)
        return OpenRuns(self.n_fresh - 1, own=[*self.own, taken])


def _turn(own: Candidate) -> tuple[int, int, float]:
    if own.skipped_at is None:
        return 0, 0 if own.held else 1, 0.0
    return 1, own.n_skips, own.skipped_at.timestamp()


def repeats_due(*, share: float, labelled: int, left: int, repeated: int) -> int:
    """How many hidden repeats the person still gets, once all their runs are counted."""
    return max(0, round(share * (labelled + left)) - repeated)


def repeat_comes_next(*, seed: int, user_id: int, left: int, due: int, given: int) -> bool:
    """Whether the next run is a repeat: mixed evenly into the last runs, then to the end."""
    if due == 0:
        return False
    if left == 0:
        return True
    return left <= due and shuffle_key(seed, user_id, given, "mix") % 2 == 0


def choose_repeat(labelled: list[int], *, seed: int, user_id: int) -> int:
    """Which of the labelled items to show again: any of those labelled longest ago.

    Args:
        labelled: ids of items that may be repeated, the oldest label first; not empty.
    """
    old = labelled[: max(1, len(labelled) // 2)]
    return min(old, key=lambda item_id: shuffle_key(seed, user_id, item_id, "repeat"))
