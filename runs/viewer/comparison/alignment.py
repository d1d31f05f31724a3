"""Which steps of two runs belong side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TypedDict
from urllib.parse import urlsplit

from webagent.sequence_matching import Compared, pieces


class Pair(TypedDict):
    """Numbers of the steps that stand side by side; None where one run has none there."""

    a: int | None
    b: int | None
    same: bool


Did = tuple[str, str]
"""An action, and the page that it was done on."""


def what_was_done(action: str, url: str) -> Did:
    """The key by which steps count as the same: action as written, page without its query.

    A query often holds what no two visits share, such as an id of the session.
    """
    try:
        page = urlsplit(url)
        return " ".join(action.split()), f"{page.scheme}://{page.netloc}{page.path}"
    except ValueError:
        return " ".join(action.split()), url


def align(a: Sequence[tuple[int, Did]], b: Sequence[tuple[int, Did]]) -> Compared[Pair]:
    """The steps of both runs, each in one pair, in order.

    Steps that did the same on the same page stand together; those between, and those that would
    take too long to compare, by position.

    Args:
        a, b: number of each step, and what was done in it.
    """
    compared = pieces([did for _, did in a], [did for _, did in b])
    pairs: Compared[Pair] = Compared(is_whole=compared.is_whole)
    for _tag, from_a, to_a, from_b, to_b in compared:
        pairs += _by_position(a[from_a:to_a], b[from_b:to_b])
    return pairs


def first_difference(pairs: Sequence[Pair]) -> int | None:
    """Place of the first pair whose steps differ; None if none does."""
    return next((place for place, pair in enumerate(pairs) if not pair["same"]), None)


def _by_position(a: Sequence[tuple[int, Did]], b: Sequence[tuple[int, Did]]) -> list[Pair]:
    return [
        Pair(
            a=None if one is None else one[0],
            b=None if other is None else other[0],
            same=one is not None and other is not None and one[1] == other[1],
        )
        for one, other in zip_longest(a, b)
    ]
