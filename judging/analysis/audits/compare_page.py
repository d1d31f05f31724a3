"""What the page of two compared evaluators shows, with the runs behind every number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.cells import Shown
from judging.analysis.audits.comparison import (
    ON_FAILURE,
    ON_SUCCESS,
    Addition,
    Additions,
    Comparison,
    Flips,
    Group,
    PairCompared,
    Spent,
    additions_of,
    compare,
)
from judging.analysis.audits.measures import BY_KEY, Measure
from judging.analysis.audits.triangle_links import Linked, in_cells
from judging.analysis.audits.verdict_sources import VerdictSource, Voices
from judging.analysis.pictures_flips import FlipsBar, flips_picture
from judging.models import Study
from judging.statistics.confusion import ConfusionMatrix
from judging.statistics.proportions import Share

GROUP_TITLES = {
    "site": gettext_lazy("By site"),
    "template": gettext_lazy("By intent template"),
    "kind": gettext_lazy("By kind of evaluation"),
}
MOST_GROUPS = 12
SIDE_BY_SIDE = ("coverage", "fn_share", "fnr", "fpr", "precision", "recall", "accuracy")
DEFAULT_PAIRS = (("before", "after"), ("webarena-strict", "webarena-repaired"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipNumbers:
    """The four flips between right and wrong."""

    fixed_fn: Linked
    new_fn: Linked
    fixed_fp: Linked
    new_fp: Linked


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
class GroupRow:
    """One site, template or kind."""

    group: Group
    runs: Linked
    numbers: FlipNumbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The comparison within the groups of one kind; `left_out` more are in the download."""

    key: str
    title: str | Promise
    rows: Sequence[GroupRow]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditionRow:
    """One step: alone, and what it adds."""

    name: str
    asked: int
    alone: ConfusionMatrix
    new_tp: Linked | None
    new_fp: Linked | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditionTable:
    """The steps of one evaluator."""

    additions: Additions
    rows: Sequence[AdditionRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparePage:
    """Two evaluators compared."""

    comparison: Comparison
    numbers: FlipNumbers
    tables: Sequence[FlipTable]
    figures: Sequence[tuple[Measure, Share, Share]]
    spent: tuple[Spent, Spent]
    groups: Sequence[Groups]
    additions: Sequence[AdditionTable]
    picture: SafeString


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRow:
    """One of all pairs."""

    pair: PairCompared
    numbers: FlipNumbers


def compare_page(
    study: Study, voices: Voices, first: VerdictSource, second: VerdictSource
) -> ComparePage:
    """The page, in a number of queries that does not depend on the runs."""
    comparison = compare(study, first, second)
    groups = [_groups(study, comparison, key, found) for key, found in comparison.groups.items()]
    additions = [
        _additions(study, found)
        for voice in (first, second)
        if (found := additions_of(study, voices, voice)) is not None
    ]
    return ComparePage(
        comparison=comparison,
        numbers=flip_numbers(study, first, second, comparison.flips),
        tables=_tables(study, comparison),
        figures=_figures(comparison.matrices),
        spent=comparison.spent,
        groups=groups,
        additions=additions,
        picture=_picture(study, comparison, groups),
    )


def default_pair(voices: Voices) -> tuple[VerdictSource, VerdictSource] | None:
    """The pair that most come for: before and after the repair, else the first two."""
    by_name = {voice.evaluator.name: voice for voice in voices.evaluators if voice.evaluator}
    for first, second in DEFAULT_PAIRS:
        if first in by_name and second in by_name:
            return by_name[first], by_name[second]
    return (voices.evaluators[0], voices.evaluators[1]) if len(voices.evaluators) > 1 else None


def pair_rows(study: Study, pairs: Sequence[PairCompared]) -> list[PairRow]:
    """All pairs, those that differ most surely first."""
    rows = [
        PairRow(pair=pair, numbers=flip_numbers(study, pair.first, pair.second, pair.flips))
        for pair in pairs
    ]
    return sorted(rows, key=lambda row: row.pair.flips.test.p_value)


def flip_numbers(
    study: Study,
    first: VerdictSource,
    second: VerdictSource,
    flips: Flips,
    groups: Mapping[str, str] | None = None,
) -> FlipNumbers:
    """The four flips with their runs."""

    def linked(n: int, before: Shown, after: Shown) -> Linked:
        return in_cells(study, n, [(first, [before]), (second, [after])], groups)

    return FlipNumbers(
        fixed_fn=linked(flips.fixed_fn, Shown.FN, Shown.TP),
        new_fn=linked(flips.new_fn, Shown.TP, Shown.FN),
        fixed_fp=linked(flips.fixed_fp, Shown.FP, Shown.TN),
        new_fp=linked(flips.new_fp, Shown.TN, Shown.FP),
    )


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


def _groups(study: Study, comparison: Comparison, key: str, found: Sequence[Group]) -> Groups:
    rows = [
        GroupRow(
            group=group,
            runs=in_cells(study, group.flips.runs, [], {key: group.name}),
            numbers=flip_numbers(
                study, comparison.first, comparison.second, group.flips, {key: group.name}
            ),
        )
        for group in found[:MOST_GROUPS]
    ]
    return Groups(key=key, title=GROUP_TITLES[key], rows=rows, left_out=len(found) - len(rows))


def _additions(study: Study, additions: Additions) -> AdditionTable:
    rows = [
        AdditionRow(
            name=step.step.step_name,
            asked=step.alone.decided,
            alone=step.alone,
            new_tp=None if step.is_first else _new(study, step, step.new_tp, Shown.TP),
            new_fp=None if step.is_first else _new(study, step, step.new_fp, Shown.FP),
        )
        for step in additions.steps
    ]
    return AdditionTable(additions=additions, rows=rows)


def _new(study: Study, addition: Addition, n: int, cell: Shown) -> Linked:
    """Runs that the step passes and no step before it passed."""
    before = [Shown.FN if cell is Shown.TP else Shown.TN, Shown.NONE]
    earlier = [(voice, before) for voice in addition.earlier]
    return in_cells(study, n, [*earlier, (addition.step, [cell])])


def _picture(study: Study, comparison: Comparison, groups: Sequence[Groups]) -> SafeString:
    first, second = comparison.first, comparison.second
    everything = flip_numbers(study, first, second, comparison.flips)
    bars = [_bar(_("all runs"), comparison.flips, everything)]
    for found in groups:
        if found.key == "site":
            bars += [
                _bar(row.group.name or _("no site"), row.group.flips, row.numbers)
                for row in found.rows
            ]
    names = {"first": first.name, "second": second.name}
    label = _("What %(second)s repairs and breaks of %(first)s") % names
    return flips_picture(bars, label=label)


def _bar(name: str, flips: Flips, numbers: FlipNumbers) -> FlipsBar:
    return FlipsBar(
        name=name,
        fixed_fn=(flips.fixed_fn, numbers.fixed_fn.url),
        fixed_fp=(flips.fixed_fp, numbers.fixed_fp.url),
        new_fn=(flips.new_fn, numbers.new_fn.url),
        new_fp=(flips.new_fp, numbers.new_fp.url),
    )
