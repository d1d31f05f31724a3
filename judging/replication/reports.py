"""The reports of a replication: each table of the paper beside ours, and what differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import groupby
from typing import Any

from django.utils import formats
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.reports.columns import in_files, parted, text
from judging.analysis.reports.registry import Entry, Registry
from judging.analysis.reports.report import Cell, Column, Report, Value
from judging.analysis.reports.showing import DASH, Shown, range_words
from judging.analysis.reports.writing import write_document
from judging.replication.deviations import FOUND_BY, MARK, Deviation, deviations_of
from judging.replication.expected import plan
from judging.replication.figures import Amount, Figure, figures_of
from judging.replication.sources import Sources
from judging.replication.study_file import Table, Unit
from judging.replication.versions import versions

PLAN, DEVIATIONS, VERSIONS = "plan", "deviations", "versions"


class ReplicationFacts(Sources):
    """A replication as a reader may know it, with its reports."""

    @cached_property
    def deviations(self) -> list[Deviation]:
        return deviations_of(self)

    @cached_property
    def registry(self) -> Registry[ReplicationFacts]:
        """A report for each table of the file, and those that every replication has."""
        tables: dict[str, Entry] = {
            table.key: Entry(_named(table), partial(_table, table=table))
            for table in self.file.tables
        }
        return Registry(
            {
                **tables,
                PLAN: Entry(_("Plan"), plan),
                DEVIATIONS: Entry(_("Deviations from the paper"), _deviations),
                VERSIONS: Entry(_("Versions, seeds and hashes"), versions),
            }
        )

    def title(self, about: str) -> str:
        return f"{self.replication.name}: {about}"

    @property
    def notes(self) -> list[str]:
        return []

    def report(self, name: str) -> Report:
        """Raises KeyError."""
        return self.registry.make(name, self)

    def document(self, ending: str) -> str:
        """The tables, deviations and versions as one text; the plan hangs on where it is made.

        Raises:
            ValueError: for CSV, of which a file holds one table only.
        """
        made = [self.report(name) for name in self.registry.entries if name != PLAN]
        return write_document(self.replication.name, made, ending)


def _named(table: Table) -> str:
    return f"{table.place}: {table.title}"


def _table(facts: ReplicationFacts, *, table: Table) -> Report:
    """One row a figure that the paper prints: published, ours, the difference and why it may be."""
    figures = list(figures_of(table, facts))
    columns = [
        text("row", _("row")),
        in_files("figure"),
        in_files("unit"),
        _amounts("published", _("in the paper"), show=_show_published),
        _amounts("ours", _("here")),
        in_files("missing_because"),
        _amounts("difference", _("difference"), show=_show_difference),
        text("deviations", _("deviations"), show=lambda marks: Shown(marks.replace(" ", "\u00a0"))),
        in_files("report"),
        in_files("of"),
    ]
    return Report(
        columns=columns, rows=[_row(each, facts) for each in figures], notes=_notes(table, figures)
    )


def _row(figure: Figure, facts: ReplicationFacts) -> list[Any]:
    unit = figure.column.unit
    place = figure.place
    touched = {place.arm, place.versus, place.judging} - {""}
    found = facts.deviations
    marks = [each.mark for each in found if not each.about or touched & set(each.about)]
    name = figure.column.name or figure.column.key
    listed = f"{facts.replication.get_absolute_url()}#part-{DEVIATIONS}"
    return [
        Cell(figure.row.name, note=name),
        name,
        unit.value,
        (figure.published, unit),
        Cell((figure.ours, unit), figure.url),
        figure.ours.why or None,
        (figure.difference, unit),
        Cell(", ".join(_ranges(marks)), listed if marks else ""),
        place.report,
        " / ".join(each for each in (place.arm, place.versus, place.judging) if each),
    ]


def _ranges(marks: Sequence[str]) -> Iterator[str]:
    """Three and more marks in a row as the first and the last of them."""
    numbers = [int(mark.removeprefix(MARK)) for mark in marks]
    for _distance, run in groupby(enumerate(numbers), lambda each: each[1] - each[0]):
        found = [f"{MARK}{number}" for _place, number in run]
        yield from (f"{found[0]}–{found[-1]}",) if len(found) > 2 else found


def _notes(table: Table, figures: Sequence[Figure]) -> list[str]:
    notes = [
        gettext(
            "In the paper: %(place)s, typed in. Here: computed from stored runs, labels and "
            "verdicts."
        )
        % {"place": table.place}
    ]
    if any(each.difference.interval for each in figures):
        notes.append(
            gettext(
                "Difference: here less in the paper, with the interval of two independent "
                "estimates (95 %, Zou and Donner); a figure published without its spread counts as "
                "exact."
            )
        )
    return notes


def _amounts(key: str, name: Any, *, show: Any = None) -> Column:
    parts = (key, f"{key}_low", f"{key}_high")
    return parted(parts, name, spread=_spread, show=show or _show)


def _spread(cell: tuple[Amount, Unit]) -> list[Value]:
    found, unit = cell
    ends = found.interval
    low, high = (round(ends.low, 10), round(ends.high, 10)) if ends else (None, None)
    value = None if found.value is None else round(found.value, 10)
    is_count = unit is Unit.NUMBER and value is not None and value == int(value)
    return [int(value) if is_count and value is not None else value, low, high]


def _show(cell: tuple[Amount, Unit]) -> Shown:
    found, unit = cell
    if found.value is None:
        return Shown(DASH, found.why)
    return Shown(_with_unit(_number(found.value, unit), unit), _ends(found, unit))


def _show_published(cell: tuple[Amount, Unit]) -> Shown:
    """The figure with the decimals that it was typed with."""
    found, unit = cell
    if found.value is None:
        return Shown(DASH)
    digits = len(f"{found.value:.10f}".rstrip("0").partition(".")[2])
    return Shown(_with_unit(_rounded(found.value, digits), unit), _ends(found, unit))


def _show_difference(cell: tuple[Amount, Unit]) -> Shown:
    found, unit = cell
    if found.value is None:
        return Shown(DASH)
    ends = found.interval
    between = range_words(_signed(ends.low, unit), _signed(ends.high, unit)) if ends else ""
    return Shown(_signed(found.value, unit), between)


def _ends(found: Amount, unit: Unit) -> str:
    ends = found.interval
    return range_words(_number(ends.low, unit), _number(ends.high, unit)) if ends else ""


def _with_unit(number: str, unit: Unit) -> str:
    return gettext("%(n)s %%") % {"n": number} if unit is Unit.PERCENT else number


def _signed(value: float, unit: Unit) -> str:
    number = _number(value, unit)
    return f"+{number}" if value > 0 and number.strip("0.,") else number


def _number(value: float, unit: Unit) -> str:
    """As many decimals as the unit has; a whole number has none."""
    digits = 1 if unit is Unit.PERCENT else 3
    rounded = round(value, digits) or 0.0  # no "-0.0"
    if unit is Unit.NUMBER and rounded == int(rounded):
        digits = 0
    return _rounded(rounded, digits)


def _rounded(value: float, digits: int) -> str:
    return formats.number_format(value, digits).replace("-", "−")


def _deviations(facts: ReplicationFacts) -> Report:
    """One row a thing that differs from the paper."""
    return Report(
        columns=[
            text("mark", _("mark")),
            text("what", _("what")),
            text("paper", _("in the paper")),
            text("ours", _("here")),
            text("about", _("about")),
            text("found_by", _("found"), show=lambda key: Shown(str(FOUND_BY[key]))),
        ],
        rows=[
            [each.mark, each.what, each.paper, each.ours, ", ".join(each.about), each.found_by]
            for each in facts.deviations
        ],
        empty="" if facts.deviations else gettext("No deviation is known."),
    )
