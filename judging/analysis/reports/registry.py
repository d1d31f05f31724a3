"""Reports by the name in their address, and answers with them as files.

A new report is a function from facts and an entry.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from django.core.management.base import BaseCommand, CommandError
from django.http import Http404, HttpResponse

from judging.analysis.reports.report import Report, Words
from judging.analysis.reports.writing import ENDINGS, FORMATS, write
from runs.interface.terminal import write_files


class Facts(Protocol):
    """What reports are made of: an experiment or a study, as somebody may know it."""

    def title(self, about: str) -> str:
        """The title of a report about this."""

    @property
    def notes(self) -> list[str]:
        """What must be known to read any of its reports."""


F = TypeVar("F", bound=Facts)
Document = Callable[[str], str]
"""Reports as one text, by the ending of its file."""


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

    def files(
        self, facts: F, ending: str, document: Document | None = None
    ) -> Iterator[tuple[Path, str]]:
        """A file for each report, and for all but CSV the document of all of them, if any."""
        for name in self.entries:
            yield Path(f"{name}.{ending}"), write(self.make(name, facts), ending)
        if document and ending != "csv":
            yield Path(f"report.{ending}"), document(ending)

    def answer(
        self,
        command: BaseCommand,
        facts: F,
        options: Mapping[str, Any],
        document: Document,
        files: Iterable[tuple[Path, str]] | None = None,
    ) -> None:
        """What a command asks for by `--format`, `--table` and `--out`: one table, the document,
        or a folder of files, which are those of all reports unless they are given.

        Raises CommandError where there is no such table, or a file cannot be written.
        """
        ending, table, out = ENDINGS[options["format"]], options["table"], options["out"]
        if table and table not in self:
            raise CommandError(f"there is no table {table}: {', '.join(self.entries)}")
        if out is not None:
            found = self.files(facts, ending, document) if files is None else files
            command.stdout.write(f"{write_files(out, dict(found))} files in {out}")
        elif table:
            command.stdout.write(write(self.make(table, facts), ending), ending="")
        elif ending == "csv":
            raise CommandError("one CSV file holds one table: give --table or --out")
        else:
            command.stdout.write(document(ending), ending="")


def attached(content: str, content_type: str, name: str) -> HttpResponse:
    """A file to keep."""
    response = HttpResponse(content, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def as_file(report: Report, ending: str) -> HttpResponse:
    written = FORMATS[ending]
    return attached(written.write(report), written.content_type, f"{report.name}.{ending}")


def as_picture(picture: str, name: str) -> HttpResponse:
    return attached(picture, "image/svg+xml", f"{name}.svg")


def check_address(ending: str, name: str = "", registry: Registry[Any] | None = None) -> None:
    """Raises Http404 where there is no such format, or no such report."""
    if ending not in FORMATS or (registry is not None and name not in registry):
        raise Http404
