"""Limits on everything that comes from outside."""

from dataclasses import dataclass

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
