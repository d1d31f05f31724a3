"""Reports by the name in their address, and answers with them as files.

A new report is a function from facts and an entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

from django.http import Http404, HttpResponse

from judging.analysis.reports.report import Report, Words
from judging.analysis.reports.writing import FORMATS, write
from judging.models import StudyItem
from judging.studies.access import record_unblindings
from runs.interface.fragments import AppRequest


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


def attached(content: str, content_type: str, name: str) -> HttpResponse:
    """A file to keep."""
    response = HttpResponse(content, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def as_file(report: Report, ending: str) -> HttpResponse:
    """The report as a file."""
    written = FORMATS[ending]
    return attached(written.write(report), written.content_type, f"{report.name}.{ending}")


def as_picture(picture: str, name: str) -> HttpResponse:
    return attached(picture, "image/svg+xml", f"{name}.svg")


def check_address(ending: str, name: str = "", registry: Registry[F] | None = None) -> None:
    """Raises Http404 where there is no such format, or no such report."""
    if ending not in FORMATS or (registry is not None and name not in registry):
        raise Http404


def record_reading(request: AppRequest, run_ids: Iterable[UUID], reason: str) -> None:
    """Note that the person has read judgements of these runs, as in the lists of an audit."""
    items = StudyItem.objects.filter(run__in=run_ids)
    record_unblindings(user=request.user, items=items, reason=reason)
