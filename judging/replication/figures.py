"""A published figure beside our own, read from the row and column of a report where it stands; how
tables show the two.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils import formats
from django.utils.translation import gettext as _

from judging.analysis.reports.report import Cell, Column, Report, Value, parted
from judging.analysis.reports.showing import DASH, Shown, range_words
from judging.replication.sources import NoFigureError, Sources
from judging.replication.study_file import Place, Table, TableColumn, TableRow
from judging.replication.study_parts import Published, Unit, not_found
from judging.statistics.comparison import ends_of_difference
from judging.statistics.figures import LEVEL, Interval, wilson_interval
from webagent.measures import normal_quantile

OF_ARM = "arm:"
"""How a value to select by begins that means what a configuration is called in a report."""
CONFIGURATION = "configuration"
Values = Mapping[str, Value]


class Amount(NamedTuple):
    """A figure with its interval, in the unit of the paper; None where there is none."""

    value: float | None = None
    interval: Interval | None = None
    why: str = ""
    """Why there is no value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of a table: what the paper prints, and what our rows give."""

    row: TableRow
    column: TableColumn
    place: Place
    published: Amount
    ours: Amount
    url: str = ""
    """Where the runs behind our figure are."""

    @property
    def difference(self) -> Amount:
        """Ours less the published one, with an interval where ours has one; none without both."""
        said, found = self.published, self.ours
        if said.value is None or found.value is None:
            return Amount()
        between = found.value - said.value
        if found.interval is None:
            return Amount(between)
        exact = _between(said.value, said.value)
        low, high = ends_of_difference(
            said.value, said.interval or exact, found.value, found.interval
        )
        return Amount(between, _between(low, high))


def figures_of(table: Table, sources: Sources) -> Iterator[Figure]:
    """Every figure that the paper prints, row by row; of a row that it does not print, all ours."""
    for row in table.rows:
        for column in table.columns:
            if column.key in row.published or not row.published:
                yield _figure(table, row, column, sources)


def _figure(table: Table, row: TableRow, column: TableColumn, sources: Sources) -> Figure:
    place = table.place_of(row, column)
    printed = row.published.get(column.key)
    said = Amount() if printed is None else published(printed, column.unit)
    try:
        found, url = _read(place, column, sources)
    except NoFigureError as why:
        found, url = Amount(why=str(why)), ""
    return Figure(row=row, column=column, place=place, published=said, ours=found, url=url)


def published(said: float | Published, unit: Unit) -> Amount:
    """A figure as the paper prints it, with the interval that follows from what it says of it."""
    if not isinstance(said, Published):
        return Amount(said)
    found = None
    if said.se is not None:
        half = normal_quantile(LEVEL) * said.se
        found = _between(said.value - half, said.value + half)
    elif said.low is not None and said.high is not None:
        found = _between(said.low, said.high)
    elif said.of is not None:
        found = _of_share(said.value, said.of, unit)
    return Amount(said.value, found)


def _between(low: float, high: float, scale: float = 1.0) -> Interval:
    return Interval(low=low * scale, high=high * scale, method="")


def _of_share(value: float, total: int, unit: Unit) -> Interval | None:
    """Wilson's interval of a published share of so many; None where it is no such share."""
    scale = _scale(unit)
    count = round(value / scale * total)
    if not 0 <= count <= total:
        return None
    found = wilson_interval(count, total)
    return _between(found.low, found.high, scale) if isinstance(found, Interval) else None


def _scale(unit: Unit) -> float:
    return 100.0 if unit is Unit.PERCENT else 1.0


def _read(place: Place, column: TableColumn, sources: Sources) -> tuple[Amount, str]:
    """The figure and the address of its runs. Raises NoFigureError."""
    report = sources.report_at(place)
    key = column.column or column.key
    header = [each.key for each in report.header]
    if key not in header:
        raise NoFigureError(
            _("%(report)s has no column %(key)s; it has %(header)s")
            % {"report": place.report, "key": key, "header": ", ".join(header)}
        )
    wanted = _wanted(place, header, sources)
    if unknown := [name for name in wanted if name not in header]:
        raise NoFigureError(
            _("%(report)s has no column %(key)s to choose a row by")
            % {"report": place.report, "key": unknown[0]}
        )
    found = [(values, urls) for values, urls in _rows(report) if _fits(values, wanted)]
    if len(found) != 1:
        chosen = ", ".join(f"{name} = {value}" for name, value in wanted.items())
        words = _("%(report)s has no row with %(chosen)s")
        if found:
            words = _("%(n)s rows of %(report)s have %(chosen)s; it takes one")
        told = {"n": len(found), "report": place.report, "chosen": chosen or "—"}
        raise NoFigureError(words % told)
    values, urls = found[0]
    amount = _amount(values, key, report, _scale(column.unit))
    return amount, urls.get(key) or sources.page(place)


def _wanted(
    place: Place, header: list[str], sources: Sources
) -> dict[str, str | int | float | bool]:
    """What the row must say: as the file has it, with arms by what they are called there."""
    wanted = dict(place.select)
    if place.arm and CONFIGURATION in header and CONFIGURATION not in wanted:
        wanted[CONFIGURATION] = f"{OF_ARM}{place.arm}"
    return {
        key: _called(value.removeprefix(OF_ARM), place.verdict, sources)
        if isinstance(value, str) and value.startswith(OF_ARM)
        else value
        for key, value in wanted.items()
    }


def _called(arm: str, verdict: str, sources: Sources) -> str:
    """What reports on its experiment call an arm. Raises NoFigureError."""
    if arm not in sources.file.arms:
        raise NoFigureError(not_found(_("configuration"), arm))
    runs = sources.arm(arm)
    for each in sources.facts(runs.experiment, verdict).configurations:
        if each.agent.pk == runs.agent.pk:
            return each.name
    raise NoFigureError(_("it has no runs that count"))


def _rows(report: Report) -> Iterator[tuple[Values, Mapping[str, str]]]:
    """Values and addresses of each row by the keys of its files."""
    header = [each.key for each in report.header]
    for row, values in zip(report.rows, report.values, strict=True):
        urls: dict[str, str] = {}
        for column, cell in zip(report.columns, row, strict=True):
            if isinstance(cell, Cell) and cell.url:
                urls |= {part.key: cell.url for part in column.in_files}
        yield dict(zip(header, values, strict=True)), urls


def _fits(there: Values, wanted: Mapping[str, Any]) -> bool:
    return all(
        there[key] == value or str(there[key]) == str(value) for key, value in wanted.items()
    )


def _amount(row: Values, key: str, report: Report, scale: float) -> Amount:
    """Raises NoFigureError where the row has no number there."""
    value = row[key]
    if value is None:
        why = row.get("undefined_because")
        raise NoFigureError(str(why) if why else _("the report has no figure there"))
    if not isinstance(value, int | float):
        raise NoFigureError(_("%(value)s is no number") % {"value": value})
    return Amount(float(value) * scale, _interval(row, key, report, scale))


def _interval(row: Values, key: str, report: Report, scale: float) -> Interval | None:
    """The interval that stands beside the value, in columns of the same figure."""
    column = next(each for each in report.columns if key in {p.key for p in each.in_files})
    keys = [part.key for part in column.in_files]
    beside = keys if len(keys) > 1 else list(row)
    for low, high in ((f"{key}_low", f"{key}_high"), ("low", "high")):
        if low in beside and high in beside and (low != "low" or key in ("value", "difference")):
            least, most = row[low], row[high]
            if isinstance(least, int | float) and isinstance(most, int | float):
                return _between(least, most, scale)
    return None


def amounts(key: str, name: Any, *, show: Any = None) -> Column:
    """A column of amounts, each with its unit; in files also the ends of their intervals."""
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


def show_published(cell: tuple[Amount, Unit]) -> Shown:
    """The figure with the decimals that it was typed with."""
    found, unit = cell
    if found.value is None:
        return Shown(DASH)
    digits = len(f"{found.value:.10f}".rstrip("0").partition(".")[2])
    return Shown(_with_unit(_rounded(found.value, digits), unit), _ends(found, unit))


def show_difference(cell: tuple[Amount, Unit]) -> Shown:
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
    return _("%(n)s %%") % {"n": number} if unit is Unit.PERCENT else number


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
