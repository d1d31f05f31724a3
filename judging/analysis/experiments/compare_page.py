"""What the page of two compared sides shows, with the runs behind every number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from judging.analysis.experiments.comparison import Comparison, Spending
from judging.analysis.experiments.pairs import CELLS, FLIPPED, RULES, By, Cell, Pair, Paired, Side
from judging.analysis.gate.reading import command_line, side_words
from judging.analysis.reports.columns import number, value_and_ends
from judging.analysis.reports.report import Cell as Linked
from judging.analysis.reports.report import Column, Report, Value

MOST_LISTED = 200


@dataclass(frozen=True, slots=True)
class PairRow:
    """A pair and what became of it."""

    pair: Pair
    cell: Promise

    @property
    def query(self) -> str:
        """What the page says that shows both runs side by side."""
        return urlencode({"a": str(self.pair.first.run), "b": str(self.pair.second.run)})


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparePage:
    """Two sides, their 2×2 table, and the pairs of one cell or all that flip."""

    comparison: Comparison
    names: tuple[str, str]
    cell: Cell | None
    cells: Mapping[str, Linked]
    rule: Promise
    other_by: By
    other_query: str
    swapped_query: str
    query: str
    rows: Sequence[PairRow]
    unlisted: int
    alone: tuple[Sequence[Paired], Sequence[Paired]]

    @property
    def cell_words(self) -> Promise | None:
        return CELLS[self.cell] if self.cell else None

    @property
    def gate_command(self) -> str:
        """What holds the second side against the first in CI, by the same verdicts."""
        first, second = (
            side_words(name, side.scope.experiment.pk, side.agent.pk if side.agent else None)
            for name, side in (
                ("baseline", self.comparison.first),
                ("candidate", self.comparison.second),
            )
        )
        return command_line(self.comparison.source, first, second)

    @property
    def listed(self) -> list[UUID]:
        """The runs whose verdicts the page tells one by one."""
        shown = [run.run for row in self.rows for run in row.pair]
        return shown + [run.run for side in self.alone for run in side]


def compare_page(comparison: Comparison, cell: Cell | None, query: QueryDict) -> ComparePage:
    """The comparison with its links; pairs of this cell, or those that flip."""
    pairing = comparison.pairing
    wanted = (cell,) if cell else FLIPPED
    found = [pair for pair in pairing.pairs if pair.cell in wanted]
    other = By.TRIAL if pairing.by is By.SEED else By.SEED
    counts = pairing.counts
    return ComparePage(
        comparison=comparison,
        names=side_names(comparison.first, comparison.second),
        cell=cell,
        cells={
            each.value: Linked(counts[each], f"?{_with(query, cell=each)}#pairs") for each in Cell
        },
        rule=RULES[pairing.by],
        other_by=other,
        other_query=_with(query, pair=other, cell=None),
        swapped_query=_swapped(query),
        query=_with(query, verdict=comparison.source.key, cell=None),
        rows=[PairRow(pair, CELLS[pair.cell]) for pair in found[:MOST_LISTED]],
        unlisted=max(0, len(found) - MOST_LISTED),
        alone=(pairing.only_in_first[:MOST_LISTED], pairing.only_in_second[:MOST_LISTED]),
    )


def side_names(first: Side, second: Side) -> tuple[str, str]:
    """What tells the two sides apart: their experiments, their configurations, or both."""
    experiments = [side.scope.experiment.name for side in (first, second)]
    agents = [side.agent_name for side in (first, second)]
    if experiments[0] == experiments[1] and all(agents):
        return agents[0], agents[1]
    one, two = (
        f"{name}: {agent}" if agent else name
        for name, agent in zip(experiments, agents, strict=True)
    )
    return one, two


def comparison_report(comparison: Comparison) -> Report:
    """One row a figure, then one a pair that flips."""
    names = side_names(comparison.first, comparison.second)
    columns = [
        Column("figure", _("figure")),
        Column("first", names[0]),
        Column("second", names[1]),
        Column("difference", _("second minus first")),
        Column("low", _("lower end, 95 %")),
        Column("high", _("upper end, 95 %")),
        Column("n", _("runs or pairs")),
        Column("task", _("task")),
    ]
    one, two = comparison.accuracies
    pair_one, pair_two = comparison.paired_accuracies
    rows: list[Sequence[Value]] = [
        ["accuracy", number(one.value), number(two.value), *value_and_ends(comparison.difference)]
        + [one.total + two.total, None],
        ["paired_accuracy", number(pair_one.value), number(pair_two.value)]
        + [*value_and_ends(comparison.paired), pair_one.total, None],
    ]
    for key in ("seconds", "cost", "steps"):
        spending: Spending = getattr(comparison, key)
        rows.append(
            [key, spending.first, spending.second, *value_and_ends(spending.difference)]
            + [spending.pairs, None]
        )
    counts = comparison.pairing.counts
    rows += [[cell.value, None, None, None, None, None, counts[cell], None] for cell in Cell]
    rows.append(["mcnemar_p", None, None, comparison.pairing.test.tested_p, None, None, None, None])
    alone = (comparison.pairing.only_in_first, comparison.pairing.only_in_second)
    rows += [
        [key, None, None, None, None, None, len(runs), None]
        for key, runs in zip(("unpaired_first", "unpaired_second"), alone, strict=True)
    ]
    rows += [
        [pair.cell.value, str(pair.first.run), str(pair.second.run), None, None, None, None]
        + [pair.first.task[1]]
        for pair in comparison.pairing.flipped
    ]
    note = _("Verdicts: %(source)s. %(rule)s") % {
        "source": comparison.source.name,
        "rule": RULES[comparison.pairing.by],
    }
    title = _("%(first)s beside %(second)s") % {"first": names[0], "second": names[1]}
    return Report(name="comparison", title=title, columns=columns, rows=rows, notes=[note])


def _with(query: QueryDict, **changes: object) -> str:
    changed = query.copy()
    for key, value in changes.items():
        changed.pop(key, None)
        if value is not None:
            changed[key] = str(value)
    return changed.urlencode()


def _swapped(query: QueryDict) -> str:
    swapped = {"a": "b", "b": "a", "a_agent": "b_agent", "b_agent": "a_agent"}
    left = {swapped.get(key, key): query.get(key, "") for key in query if key != "cell"}
    return urlencode(left)
