"""Two sides held against each other: how far their figures lie apart, and which pairs flip."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import QueryDict
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.figures import Configuration, ExperimentFigures
from judging.analysis.experiments.pairs import FLIPPED, By, Cell, Paired, Pairing, Side, pair_up
from judging.analysis.experiments.population import Source
from judging.analysis.gate.reading import command_line, side_words
from judging.analysis.reports.registry import html_tables
from judging.analysis.reports.report import Cell as Linked
from judging.analysis.reports.report import (
    Column,
    Report,
    Value,
    in_files,
    number,
    on_pages,
    text,
    value_and_ends,
)
from judging.analysis.reports.showing import (
    DASH,
    Shown,
    decimals,
    ends_words,
    figure_words,
    p_words,
    percent,
    percent_ends,
    range_words,
    show,
)
from judging.statistics.comparison import Difference, difference_of_shares, paired_difference
from judging.statistics.figures import Share, Undefined
from runs.interface.sentences import labelled
from runs.interface.words import duration, money

MOST_LISTED = 200


class Spending(NamedTuple):
    """What the paired runs of either side took on the mean, of the pairs where both are known."""

    first: float | None
    second: float | None
    difference: Difference
    pairs: int


class Comparison:
    """Two sides under one source, in at most six queries, however many runs there are."""

    def __init__(self, first: Side, second: Side, source: Source, by: By | None = None) -> None:
        self.first, self.second, self.source = first, second, source
        self.pairing = pair_up(first, second, source, by)

    @cached_property
    def names(self) -> tuple[str, str]:
        """What tells the two sides apart: their experiments, their configurations, or both."""
        one, two = self.first, self.second
        if one.scope.experiment.name == two.scope.experiment.name and one.agent and two.agent:
            return one.agent_name, two.agent_name
        return one.name, two.name

    @cached_property
    def accuracies(self) -> tuple[Share, Share]:
        """Over all runs of either side, paired or not."""
        return _accuracy(self.first, self.source), _accuracy(self.second, self.source)

    @property
    def difference(self) -> Difference:
        """Of these, as if the sides were independent."""
        return difference_of_shares(*self.accuracies)

    @cached_property
    def spent(self) -> Mapping[str, Spending]:
        """By what it is of."""
        return {key: self._spending(attrgetter(key)) for key in ("seconds", "cost", "steps")}

    def _spending(self, of: Callable[[Paired], float | None]) -> Spending:
        known = [
            (one, two, pair.first.task)
            for pair in self.pairing.pairs
            if (one := of(pair.first)) is not None and (two := of(pair.second)) is not None
        ]
        return Spending(
            _mean([one for one, _, _ in known]),
            _mean([two for _, two, _ in known]),
            paired_difference(
                [float(two - one) for one, two, _ in known], [task for *_, task in known]
            ),
            len(known),
        )

    @property
    def gate_command(self) -> str:
        """What holds the second side against the first in CI, by the same verdicts."""
        first, second = (
            side_words(name, side.scope.experiment.pk, side.agent.pk if side.agent else None)
            for name, side in (("baseline", self.first), ("candidate", self.second))
        )
        return command_line(self.source, first, second)


def _accuracy(side: Side, source: Source) -> Share:
    configurations = ExperimentFigures(side.scope, source).configurations
    chosen = [each for each in configurations if side.agent in (None, each.agent)]
    return Share(sum(each.successes for each in chosen), sum(each.decided for each in chosen))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def compare_page(comparison: Comparison, cell: Cell | None, query: QueryDict) -> dict[str, Any]:
    """What the page of a comparison shows beside it: pairs of this cell, or those that flip."""
    pairing = comparison.pairing
    alone = pairing.only_in_first, pairing.only_in_second
    found = [pair for pair in pairing.pairs if pair.cell in ((cell,) if cell else FLIPPED)]
    table = two_by_two(pairing, lambda each: f"?{_with(query, cell=each)}#pairs")
    return table | {
        "cell": cell,
        "cell_words": cell.label if cell else None,
        "other_query": _with(query, pair=table["other_by"], cell=None),
        "swapped_query": _swapped(query),
        "query": _with(query, verdict=comparison.source.key, cell=None),
        "rows": found[:MOST_LISTED],
        "unlisted": max(0, len(found) - MOST_LISTED),
        "differences": html_tables(_differences(comparison)),
        "alone": [
            (name, run)
            for name, runs in zip(comparison.names, alone, strict=True)
            for run in runs[:MOST_LISTED]
        ],
    }


def two_by_two(pairing: Pairing, url: Callable[[Cell], str]) -> dict[str, Any]:
    """The 2×2 table of a pairing with its links, its rule, and the other way to pair."""
    return {
        "cells": {cell.value: Linked(pairing.counts[cell], url(cell)) for cell in Cell},
        "rule": pairing.by.label,
        "other_by": By.TRIAL if pairing.by is By.SEED else By.SEED,
    }


def _differences(comparison: Comparison) -> Report:
    """How far the two sides lie apart, as the page shows it."""
    pairing, names, paired = comparison.pairing, comparison.names, gettext("paired runs")
    rows: list[list[Any]] = [
        [
            labelled(gettext("accuracy"), gettext("all runs")),
            *(_share(each, percent_ends(each.interval)) for each in comparison.accuracies),
            comparison.difference,
        ],
        [labelled(gettext("accuracy"), paired), *map(_share, pairing.successes), pairing.gain],
    ]
    for words, key, amount, unit in (
        (gettext("time"), "seconds", duration, "s"),
        (gettext("cost"), "cost", money, "$"),
        (gettext("steps"), "steps", lambda mean: decimals(1)(mean).text, ""),
    ):
        spent = comparison.spent[key]
        both = (Shown(amount(mean)) for mean in (spent.first, spent.second))
        rows.append([labelled(words, paired), *both, _gap(spent, unit)])
    return Report(
        columns=[
            text("figure", _("figure")),
            *(on_pages(name, show=_show) for name in (*names, _("second minus first"))),
        ],
        rows=rows,
    )


def _share(share: Share, ends: str = "") -> Shown:
    counts = f"{intcomma(share.count)}/{intcomma(share.total)}"
    return Shown(percent(share.value), f"{counts} · {ends}" if ends and share.total else counts)


def _show(value: Any) -> Shown:
    return value if isinstance(value, Shown) else show(value)


def _gap(spent: Spending, unit: str) -> Shown:
    """How much more the second side took."""
    if not spent.pairs:
        return Shown(DASH, gettext("unknown"))
    value, interval = spent.difference.value, spent.difference.interval
    said = f"{figure_words(value, is_share=False)} {unit}"
    ends = ends_words(interval, is_share=False)
    if unit == "$":
        said = DASH if isinstance(value, Undefined) else _more_dollars(value)
        if not isinstance(interval, Undefined):
            ends = range_words(_more_dollars(interval.low), _more_dollars(interval.high))
    n = intcomma(spent.pairs)
    return Shown(said, f"{ends} · {ngettext('%(n)s pair', '%(n)s pairs', spent.pairs) % {'n': n}}")


def _more_dollars(value: float) -> str:
    """A difference of costs: `+$0.0041`."""
    sign = "+" if value > 0 else "−" if value < 0 else ""
    return f"{sign}{money(abs(value))}"


def comparison_report(comparison: Comparison) -> Report:
    """One row a figure, then one a pair that flips."""
    pairing, names = comparison.pairing, comparison.names
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

    def of_shares(key: str, both: tuple[Share, Share], gap: Difference, n: int) -> list[Value]:
        return [key, *(number(each.value) for each in both), *value_and_ends(gap), n, None]

    def counted(key: str, n: int) -> list[Value]:
        return [key, *[None] * 5, n, None]

    everybody = sum(share.total for share in comparison.accuracies)
    rows: list[Sequence[Value]] = [
        of_shares("accuracy", comparison.accuracies, comparison.difference, everybody),
        of_shares("paired_accuracy", pairing.successes, pairing.gain, len(pairing.decided)),
        *(
            [key, each.first, each.second, *value_and_ends(each.difference), each.pairs, None]
            for key, each in comparison.spent.items()
        ),
        *(counted(cell.value, pairing.counts[cell]) for cell in Cell),
        ["mcnemar_p", None, None, pairing.test.tested_p, *[None] * 4],
        counted("unpaired_first", len(pairing.only_in_first)),
        counted("unpaired_second", len(pairing.only_in_second)),
        *(
            [pair.cell.value, str(pair.first.run), str(pair.second.run), *[None] * 4]
            + [pair.first.task[1]]
            for pair in pairing.flipped
        ),
    ]
    note = gettext("Verdicts: %(source)s. %(rule)s") % {
        "source": comparison.source.name,
        "rule": pairing.by.label,
    }
    title = gettext("%(first)s beside %(second)s") % {"first": names[0], "second": names[1]}
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


def pairs(facts: Facts) -> Report:
    """One row for every two configurations: what each solves that the other does not."""
    return Report(
        columns=[
            text("first", _("first")),
            text("second", _("second")),
            in_files("paired_by"),
            *(Column(cell.value, cell.label) for cell in Cell),
            Column("unpaired_first", _("unpaired, first")),
            Column("unpaired_second", _("unpaired, second")),
            Column(
                "union", _("at least one succeeds"), spread=lambda share: (number(share.value),)
            ),
            Column("p_value", _("McNemar, exact"), show=lambda p: Shown(p_words(p))),
        ],
        rows=[_pair(facts, *each) for each in facts.pairings],
    )


def _pair(facts: Facts, first: Configuration, second: Configuration, pairing: Pairing) -> list[Any]:
    address = _compare_url(facts, first, second, pairing.by)
    return [
        first.name,
        second.name,
        pairing.by.value,
        *(Linked(pairing.counts[cell], f"{address}&cell={cell}#pairs") for cell in Cell),
        len(pairing.only_in_first),
        len(pairing.only_in_second),
        pairing.union,
        pairing.test.tested_p,
    ]


def pairs_section(facts: Facts, named: tuple[str | None, str | None]) -> dict[str, Any]:
    """The two configurations that are named by number, or those with the most decided pairs."""
    chosen = [each for each in facts.pairings if (str(each[0].pk), str(each[1].pk)) == named]
    chosen = chosen or sorted(facts.pairings, key=lambda each: -len(each[2].decided))
    if not chosen:
        return {}
    first, second, pairing = chosen[0]
    address = _compare_url(facts, first, second, pairing.by)
    table = two_by_two(pairing, lambda cell: f"{address}&cell={cell}#pairs")
    part = reverse("judging:experiment_part", args=[facts.experiment.pk, "pairs"])
    switched = {"pair": table["other_by"].value, "first": first.pk, "second": second.pk}
    return table | {
        "first": first.name,
        "second": second.name,
        "pairing": pairing,
        "address": address,
        "other_url": f"{part}?{facts.parameters}&{urlencode(switched)}",
    }


def _compare_url(facts: Facts, first: Configuration, second: Configuration, by: By) -> str:
    """The page that compares two configurations of the experiment."""
    pk = facts.experiment.pk
    query: dict[str, str | int] = {
        "a": pk,
        "a_agent": first.pk,
        "b": pk,
        "b_agent": second.pk,
        "verdict": facts.source.key,
        "pair": by.value,
    }
    return f"{reverse('judging:experiment_compare')}?{urlencode(query)}"
