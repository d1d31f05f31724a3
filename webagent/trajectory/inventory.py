"""What a run's source names, and what became of it: held by the run, or a gap.

Readers declare what a source names (pictures, steps, trees, values) and hand in what they could
read of it. What is missing is worked out here and nowhere else, from the records that were made:
what is named is either held by them or written down as a gap.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from webagent.trajectory.bundles import Problem
from webagent.trajectory.records import Gap
from webagent.trajectory.texts import storable_text

NOT_THERE = "missing"
NO_NUMBER = "no number that can be kept"
NO_TIME = "no time, or none that names its zone"
WHY_REFUSED = {"value": NO_NUMBER, "time": NO_TIME}
NOT_HELD = "read, but in none of the run's records"
NOT_IN_ORIGINALS = frozenset(("value", "encoding"))
"""What only the sent file shows: kept originals were cleaned of it."""
_MAX_SHOWN = 300


@dataclass(slots=True)
class _Named:
    """One thing that the source names."""

    what: str
    where: str
    why: str = NOT_THERE
    """Why it is missing; empty once it was read."""
    sha256: str = ""
    """Of the blob that it became."""
    is_note: bool = False
    """Something that is said of the run, and never held."""

    def why_missing(self, held: Container[str]) -> str:
        """Empty where it was read and a record holds it."""
        return NOT_HELD if self.sha256 and self.sha256 not in held else self.why


class Inventory:
    """Everything that one run's source names."""

    def __init__(self, most: int) -> None:
        """`most` gaps are listed one by one; the rest is counted."""
        self._most = most
        self._entries: list[_Named] = []
        self._open: dict[tuple[str, str], _Named] = {}

    def keep(self, what: str, where: str, sha256: str = "") -> None:
        """It was read; where it became a blob, the run's records must hold that."""
        entry = self._entry(what, where)
        entry.why, entry.sha256 = "", sha256

    def miss(self, what: str, where: str, why: str = NOT_THERE) -> None:
        """The source names it, and it cannot be had."""
        self._entry(what, where).why = why

    def numbered(
        self, what: str, where: str, numbers: Iterable[int | None], *, first: int | None = None
    ) -> None:
        """Things that the source numbers, from `first` on or from the lowest that is there."""
        known = {number for number in numbers if number is not None}
        first = min(known, default=0) if first is None else first
        for number in range(first, min(max(known, default=first), first + self._most)):
            if number not in known:
                self.miss(what, f"{where} {number}", "its number is left out")

    def note(self, what: str, where: str, why: str) -> None:
        """Something of the source was not understood, or its format does not hold it."""
        self._entries.append(_Named(what, where, why, is_note=True))

    def why(self, what: str, where: str) -> str | None:
        """Why something is missing; None if nothing is known of that."""
        found = (each.why for each in self._entries if (each.what, each.where) == (what, where))
        return next((why for why in found if why), None)

    def gaps(self, held: Container[str]) -> tuple[Gap, ...]:
        """What is named and not held.

        Where all of a kind are missing for one reason, one gap counts them.

        Args:
            held: hashes of the blobs that the run's records mention.
        """
        every = [(each, each.why_missing(held)) for each in self._entries]
        kept = {each.what for each, why in every if not why}
        alike = Counter((each.what, why) for each, why in every if why)
        found: dict[object, tuple[str, list[_Named]]] = {}
        for place, (each, why) in enumerate(every):
            if why:
                kind = each.what, why
                together = alike[kind] > 1 and each.what not in kept and not each.is_note
                found.setdefault(kind if together else place, (why, []))[1].append(each)
        gaps = [_gap(group, why) for why, group in found.values()]
        if len(gaps) > self._most:
            rest = sum(gap.count or 1 for gap in gaps[self._most :])
            why = f"more than {self._most} gaps"
            more = Gap(what="gap", where="run", why=why, count=rest if rest > 1 else None)
            gaps = [*gaps[: self._most], more]
        return tuple(gaps)

    def _entry(self, what: str, where: str) -> _Named:
        entry = self._open.get((what, where))
        if entry is None:
            entry = self._open[what, where] = _Named(what, where)
            self._entries.append(entry)
        return entry


def _gap(group: list[_Named], why: str) -> Gap:
    # What a run ends with may have been asked for before: numbers in order, short ones first.
    in_order = sorted(group, key=lambda each: (len(each.where), each.where))
    first, last = in_order[0], in_order[-1]
    where = first.where if first is last else f"{first.where} … {last.where}"
    return Gap(
        what=first.what,
        where=storable_text(where, _MAX_SHOWN),
        why=storable_text(why, _MAX_SHOWN),
        count=len(group) if len(group) > 1 else None,
    )


def problems_of(gaps: Iterable[Gap], source: str) -> Iterator[Problem]:
    """The gaps of a run as the import's report tells them."""
    for gap in gaps:
        why = f"{gap.why} ({gap.count} in all)" if gap.count else gap.why
        yield Problem(source, gap.where, gap.what, why)
