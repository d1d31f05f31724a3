"""The order in which a study's runs come to one annotator. No query, no clock.

Everybody has an order of their own, so that tiredness and learning do not fall on the same
runs; it follows from the study's seed and the person alone, so that it never jumps.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from judging.models import Assignment

MAX_SKIPS = 2
"""A run skipped this often is left to the others; its annotator may still take it up."""


@dataclass(frozen=True, slots=True)
class Candidate:
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


def in_order(candidates: Iterable[Candidate], *, seed: int, user_id: int) -> list[Candidate]:
    """Candidates as they should be offered.

    First what the person has in work, then the least labelled, and last what they skipped, the
    longest ago first. Runs skipped too often are left out.
    """

    def key(candidate: Candidate) -> tuple[int, int, float, int]:
        order = shuffle_key(seed, user_id, candidate.item_id)
        if candidate.state == Assignment.State.LEASED:
            return (0, 0 if candidate.held else 1, 0.0, order)
        if candidate.skipped_at is not None:
            return (2, candidate.n_skips, candidate.skipped_at.timestamp(), order)
        return (1, candidate.taken, 0.0, order)

    return sorted(
        (c for c in candidates if c.n_skips < MAX_SKIPS or c.state == Assignment.State.LEASED),
        key=key,
    )


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
