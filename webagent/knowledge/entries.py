"""What is learned from runs: entries of web knowledge, and levels of hints."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from webagent.trajectory.canonical import hashed_json

LONGEST_TEXT = 2000


class Entry(BaseModel):
    """One piece of knowledge. `ok` may be empty: nobody has found the way yet."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    intent: str = Field(min_length=1, max_length=LONGEST_TEXT)
    ok: str = Field(default="", max_length=LONGEST_TEXT)
    ng: str = Field(min_length=1, max_length=LONGEST_TEXT)

    @property
    def text(self) -> str:
        """The entry as agents read it."""
        lines = [f"- {_flat(self.intent)}"]
        lines += [f"  Works: {_flat(self.ok)}"] if self.ok.strip() else []
        return "\n".join([*lines, f"  Does not work: {_flat(self.ng)}"])


class RawEntry(Entry):
    """An entry as it was extracted, with the steps that it came from."""

    run: str
    steps: tuple[int, ...] = ()


class SummarisedEntry(Entry):
    """An entry that stands for others: `sources` are their places in what was summarised."""

    sources: tuple[int, ...] = Field(min_length=1)


def hash_of(entries: Iterable[Entry]) -> str:
    """SHA-256 (hex) of what agents would read of these entries, in their order."""
    words = [[entry.intent, entry.ok, entry.ng] for entry in entries]
    return hashlib.sha256(hashed_json({"entries": words})).hexdigest()


def _flat(text: str) -> str:
    return " ".join(text.split())


class Level(StrEnum):
    """How far a hint is from the run that it was written from."""

    CONCRETE = "concrete"
    ABSTRACT = "abstract"
    INSIGHTS = "insights"


class Relatedness(StrEnum):
    """How near the source of a hint is to the task that gets it."""

    SAME_TASK = "same_task"
    """The very same: an upper bound, since what it tells is the solution."""
    SAME_SITE_HIGHEST = "same_site_highest"
    SAME_SITE_LOWEST = "same_site_lowest"
    OTHER_SITE_LOWEST = "other_site_lowest"
