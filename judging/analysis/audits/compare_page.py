"""What the page of two compared evaluators shows, with the runs behind every number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from judging.analysis.audits.cells import Shown
from judging.analysis.audits.comparison import (
    ON_FAILURE,
    ON_SUCCESS,
    Comparison,
    Flips,
    Spent,
    compare,
)
from judging.analysis.audits.comparison_reports import (
    FLIP_NAMES,
    MOST_GROUPS,
    comparison_report,
    flip_cells,
    steps_of,
)
from judging.analysis.audits.measures import BY_KEY, Measure
from judging.analysis.audits.triangle_links import Linked, in_cells
from judging.analysis.audits.verdict_sources import VerdictSource, VerdictSources
from judging.analysis.pictures_flips import FlipsBar, flips_picture
from judging.analysis.reports.html import HtmlTable, html_tables
from judging.models import Study
from judging.statistics.confusion import ConfusionMatrix
from judging.statistics.figures import Share

SIDE_BY_SIDE = ("coverage", "fn_share", "fnr", "fpr", "precision", "recall", "accuracy")
DEFAULT_PAIRS = (("before", "after"), ("webarena-strict", "webarena-repaired"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipRow:
    """A cell under the first evaluator, and what became of its runs under the second."""

    cell: str
    numbers: Sequence[tuple[Linked, str]]
    """Each with what it means: same, better, worse, or empty."""
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipTable:
    """All flips of runs with one reference verdict."""

    reference: str
    columns: Sequence[str]
    rows: Sequence[FlipRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparePage:
    """Two evaluators compared."""

    comparison: Comparison
    numbers: Sequence[tuple[Promise, str, Linked]]
    """The four flips: name, kind of error, and its runs."""
    tables: Sequence[FlipTable]
    figures: Sequence[tuple[Measure, Share, Share]]
    spent: tuple[Spent, Spent]
    groups: Sequence[HtmlTable]
    additions: Sequence[HtmlTable]
    picture: SafeString


def compare_page(
    study: Study, sources: VerdictSources, first: VerdictSource, second: VerdictSource
) -> ComparePage:
    """The page, in a number of queries that does not depend on the runs."""
    comparison = compare(study, first, second)
    steps = steps_of(study, sources, (first, second))
    return ComparePage(
        comparison=comparison,
        numbers=[
            (words, error, Linked(cell.value, cell.url))
            for (words, error), cell in zip(
                FLIP_NAMES, flip_cells(study, first, second, comparison.flips), strict=True
            )
        ],
        tables=_tables(study, comparison),
        figures=_figures(comparison.matrices),
        spent=comparison.spent,
        groups=html_tables(comparison_report(study, comparison)),
        additions=html_tables(steps) if steps.rows else [],
        picture=_picture(study, comparison),
    )


def default_pair(sources: VerdictSources) -> tuple[VerdictSource, VerdictSource] | None:
    """The pair that most come for: before and after the repair, else the first two."""
    by_name = {source.evaluator.name: source for source in sources.evaluators if source.evaluator}
    for first, second in DEFAULT_PAIRS:
        if first in by_name and second in by_name:
            return by_name[first], by_name[second]
    return (sources.evaluators[0], sources.evaluators[1]) if len(sources.evaluators) > 1 else None


def _tables(study: Study, comparison: Comparison) -> list[FlipTable]:
    first, second = comparison.first, comparison.second
    tables = []
    for reference, cells, flips in (
        ("success", ON_SUCCESS, comparison.flips.on_success),
        ("failure", ON_FAILURE, comparison.flips.on_failure),
    ):
        rows = [
            FlipRow(
                cell=before,
                # The fifth cell holds runs of both reference verdicts, so it alone cannot link.
                numbers=[
                    (_flip(study, first, second, before, after, flips), _meaning(before, after))
                    for after in cells
                ],
                total=sum(flips.get((before, after), 0) for after in cells),
            )
            for before in cells
        ]
        tables.append(FlipTable(reference=reference, columns=cells, rows=rows))
    return tables


def _flip(
    study: Study,
    first: VerdictSource,
    second: VerdictSource,
    before: Shown,
    after: Shown,
    flips: Mapping[tuple[Shown, Shown], int],
) -> Linked:
    n = flips.get((before, after), 0)
    if before is after is Shown.NONE:
        return Linked(n)
    return in_cells(study, n, [(first, [before]), (second, [after])])


def _meaning(before: Shown, after: Shown) -> str:
    right = (Shown.TP, Shown.TN)
    if before is after:
        return "same"
    if Shown.NONE in (before, after):
        return ""
    return "better" if after in right else "worse"


def _figures(
    matrices: tuple[ConfusionMatrix, ConfusionMatrix],
) -> list[tuple[Measure, Share, Share]]:
    rows = []
    for key in SIDE_BY_SIDE:
        first, second = (BY_KEY[key].of(matrix) for matrix in matrices)
        if isinstance(first, Share) and isinstance(second, Share):
            rows.append((BY_KEY[key], first, second))
    return rows


def _picture(study: Study, comparison: Comparison) -> SafeString:
    sites = comparison.groups.get("site", ())[:MOST_GROUPS]
    bars = [_bar(study, comparison, _("all runs"), comparison.flips, {})]
    bars += [
        _bar(study, comparison, site.name or _("no site"), site.flips, {"site": site.name})
        for site in sites
    ]
    names = {"first": comparison.first.name, "second": comparison.second.name}
    label = _("What %(second)s repairs and breaks of %(first)s") % names
    return flips_picture(bars, label=label)


def _bar(
    study: Study, comparison: Comparison, name: str, flips: Flips, groups: Mapping[str, str]
) -> FlipsBar:
    cells = flip_cells(study, comparison.first, comparison.second, flips, groups)
    fixed_fn, new_fn, fixed_fp, new_fp = ((cell.value, cell.url) for cell in cells)
    return FlipsBar(name=name, fixed_fn=fixed_fn, fixed_fp=fixed_fp, new_fn=new_fn, new_fp=new_fp)
