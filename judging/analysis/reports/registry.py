"""Reports by the name in their address.

A new report is a function from facts and an entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from judging.analysis.reports.report import Report, Words
from judging.analysis.reports.writing import write


class Facts(Protocol):
    """What reports are made of: an experiment or a study, as somebody may know it."""

    def title(self, about: str) -> str:
        """The title of a report about this."""

    @property
    def notes(self) -> list[str]:
        """What must be known to read any of its reports."""


F = TypeVar("F", bound=Facts)


class Entry(NamedTuple):
    """A report: its name for people, what makes it, and whether it has a row a run."""

    words: Words
    make: Callable[..., Report]
    lists_runs: bool = False


@dataclass(frozen=True)
class Registry(Generic[F]):
    """The reports on one kind of facts; `prefix` begins the names of their files."""

    entries: Mapping[str, Entry]
    prefix: str = ""

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    @property
    def names(self) -> Mapping[str, Words]:
        """What the reports are called, for a menu."""
        return {name: entry.words for name, entry in self.entries.items()}

    def make(self, name: str, facts: F, *chosen: Any) -> Report:
        """The report with its title and the notes of its facts; `chosen` is what else it takes.

        Raises KeyError where there is none of that name.
        """
        words, make, _lists_runs = self.entries[name]
        report = make(facts, *chosen)
        counts = facts.notes if report.counts is None else report.counts
        return replace(
            report,
            name=f"{self.prefix}{name}",
            title=facts.title(str(words)),
            notes=[*counts, *report.notes],
        )

    def for_document(self, facts: F) -> list[Report]:
        """The reports that are no lists of runs."""
        return [
            self.make(name, facts) for name, entry in self.entries.items() if not entry.lists_runs
        ]

    def files(self, facts: F, ending: str) -> Iterator[tuple[Path, str]]:
        """A file for each report."""
        for name in self.entries:
            yield Path(f"{name}.{ending}"), write(self.make(name, facts), ending)
