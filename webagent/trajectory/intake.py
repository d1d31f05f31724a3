"""What comes from outside: how much of it is taken, and how what is left out is told.

Readers declare what a source names (pictures, steps, trees, values) and hand in what they could
read of it. What is missing is worked out in `Inventory` and nowhere else, from the records that
were made: what is named is either held by them or written down as a gap.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from webagent.trajectory.records import Gap
from webagent.trajectory.texts import storable_text

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How large, how many, how deep a file from outside may be.

    The defaults fit a whole WebArena study (812 tasks, some 8 GB) and refuse bombs. Sizes are
    bytes after decompression unless said otherwise.
    """

    upload_bytes: int = 4 * GIB
    """The archive itself, as it lies there."""
    members: int = 200_000
    member_bytes: int = 512 * MIB
    total_bytes: int = 20 * GIB
    ratio: int = 250
    """Decompressed to compressed, checked once a member passes `ratio_from_bytes`."""
    ratio_from_bytes: int = 4 * MIB
    path_chars: int = 500
    path_depth: int = 32

    image_bytes: int = 32 * MIB
    image_pixels: int = 50_000_000
    """A full-page screenshot of 2560 px width may be nearly 20,000 px high."""

    json_bytes: int = 64 * MIB
    json_depth: int = 64
    line_bytes: int = 32 * MIB
    """One line of a JSON Lines file."""
    lines: int = 2_000_000
    """Lines of one JSON Lines file: where each lies is held in memory."""
    text_chars: int = 1_000_000
    """One string inside a record; longer ones are cut, and the cut is said."""
    blob_bytes: int = 64 * MIB
    video_bytes: int = 512 * MIB

    runs: int = 100_000
    steps_per_run: int = 5_000
    goal_parts: int = 100
    problems: int = 1_000
    """Problems listed one by one; the rest is counted."""

    pickle_bytes: int = 64 * MIB
    pickle_depth: int = 200
    pickle_nodes: int = 3_000_000
    """Values in one pickle once written out: repeated references count each time."""
    pickle_seconds: float = 20.0
    pickle_memory_bytes: int = 2 * GIB
    """Address space of the process that reads pickles."""

    def of_blob(self, media_type: str) -> int:
        """The most bytes that a blob of this type may have."""
        return self.video_bytes if media_type.startswith("video/") else self.blob_bytes


class BoundError(ValueError):
    """Something from outside is larger, deeper or more than allowed."""


def check_ratio(size: int, packed: int, bounds: Bounds) -> None:
    """Refuse what decompresses suspiciously well. Raises BoundError."""
    if size > bounds.ratio_from_bytes and size > bounds.ratio * max(packed, 1):
        raise BoundError(f"decompresses to more than {bounds.ratio} times its size")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was left out or not understood; what surrounds it was read."""

    source: str
    """The run (or file) it happened in, as the path inside what was given."""
    file: str
    field: str
    reason: str
    line: int = 0
    """Of the file, from 1; 0 where that is not known."""

    def __str__(self) -> str:
        where = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{where}, {self.field}: {self.reason}" if self.field else f"{where}: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        """Without a line that is not known."""
        return {key: value for key, value in asdict(self).items() if key != "line" or value}


@dataclass(frozen=True, slots=True)
class Rejection(Problem):
    """A run or a whole file that cannot be read. It leaves nothing behind."""


class InputError(ValueError):
    """Something from outside cannot be taken. Names the place as far as whoever raises it knows."""

    def __init__(self, field: str, reason: str, *, file: str = "", line: int = 0) -> None:
        super().__init__(reason)
        self.file = file
        self.line = line
        self.field = field

    def problem(self, source: str, file: str = "") -> Problem:
        """The same as an item of a report; `file` stands where the error names none."""
        return Problem(source, self.file or file, self.field, str(self), self.line)

    def rejection(self, source: str, file: str = "") -> Rejection:
        """The same of what leaves nothing behind."""
        return Rejection(source, self.file or file, self.field, str(self), self.line)


CUT_SHORT = "cut short: what is missing of this run is not known; send the whole file"
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
