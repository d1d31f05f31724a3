"""The order in which a study's runs come to one annotator. No query, no clock.

Everybody has an order of their own, so that tiredness and learning do not fall on the same
runs; it follows from the study's seed and the person alone, so that it never jumps.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
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


def shuffle_key(seed: int, user_id: int, item_id: int, purpose: str = "order") -> int:
    """A number that orders items for one person: stable, and unlike any other person's."""
    text = f"{seed}:{user_id}:{item_id}:{purpose}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class OpenRuns:
    """The runs of a study that one person may still label and that others do not fill.

    Attributes:
        fresh: those never assigned to the person, by item: how many labels are taken. There may be
            thousands, so they are no objects.
        own: those that were.
    """

    fresh: dict[int, int] = field(default_factory=dict)
    own: list[Candidate] = field(default_factory=list)

    def __contains__(self, item_id: int) -> bool:
        return item_id in self.fresh or any(each.item_id == item_id for each in self.own)

    def offered(self) -> Iterable[Candidate]:
        """The person's own that still come by themselves: none that was skipped too often."""
        leased = Assignment.State.LEASED
        return (each for each in self.own if each.n_skips < MAX_SKIPS or each.state == leased)

    def left_alone(self) -> set[Candidate]:
        """Those that were skipped too often."""
        return set(self.own).difference(self.offered())

    def first(self, *, seed: int, user_id: int) -> Candidate | None:
        """The one to offer now.

        First what the person has in work, then the least labelled, and last what they skipped, the
        longest ago first.
        """
        place = partial(shuffle_key, seed, user_id)
        own = sorted(self.offered(), key=lambda each: (*_turn(each), place(each.item_id)))
        if own and own[0].state == Assignment.State.LEASED or not self.fresh:
            return own[0] if own else None
        least = min(self.fresh.values())
        return Candidate(min((pk for pk, n in self.fresh.items() if n == least), key=place), least)


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
