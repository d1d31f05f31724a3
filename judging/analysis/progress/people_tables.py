"""The tables of a judge's progress beside people's that can be taken away."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.progress.people import (
    Against,
    Cell,
    MilestoneFigures,
    Pair,
    milestone_figures,
)
from judging.analysis.progress.people_page import PeoplePage, Row
from judging.analysis.reports import Column, Table, Value
from judging.analysis.table_values import ends, number, value_and_ends, why, with_ends

_CELLS = (Cell.BOTH, Cell.JUDGE, Cell.PEOPLE, Cell.NEITHER, Cell.DIVIDED)


def figures_table(page: PeoplePage) -> Table:
    """One row for all runs, one a site, and one for people with each other."""
    columns = [
        Column("runs", gettext_lazy("which runs")),
        Column("n", gettext_lazy("n, runs or pairs of people")),
        Column("r", gettext_lazy("Pearson's r")),
        Column("r_low", gettext_lazy("lower end, 95 %, Fisher")),
        Column("r_high", gettext_lazy("upper end, 95 %, Fisher")),
        Column("r_undefined_because", gettext_lazy("why there is no r")),
        Column("agreement", gettext_lazy("share within the tolerance")),
        Column("agreement_low", gettext_lazy("lower end, 95 %, Wilson")),
        Column("agreement_high", gettext_lazy("upper end, 95 %, Wilson")),
        Column("bias", gettext_lazy("bias: judge − people")),
        Column("bias_low", gettext_lazy("lower end, 95 %, Student")),
        Column("bias_high", gettext_lazy("upper end, 95 %, Student")),
        Column("bias_low_by_task", gettext_lazy("lower end, 95 %, by task")),
        Column("bias_high_by_task", gettext_lazy("upper end, 95 %, by task")),
        Column("mae", gettext_lazy("mean absolute error")),
        Column("lower_limit", gettext_lazy("lower limit of agreement")),
        Column("upper_limit", gettext_lazy("upper limit of agreement")),
    ]
    shown = [*page.rows, *([page.between_people] if page.between_people else [])]
    return _table(page, "figures", columns, [_figures(row) for row in shown])


def runs_table(page: PeoplePage) -> Table:
    """One row a run that both speak of: what the figures are computed from."""
    columns = [
        Column("position", gettext_lazy("number in the study")),
        Column("run", gettext_lazy("run")),
        Column("task", gettext_lazy("task")),
        Column("site", gettext_lazy("site")),
        Column("people", gettext_lazy("people's progress, mean of the highest")),
        Column("each_person", gettext_lazy("progress by each person, as a list")),
        Column("judge", gettext_lazy("the judge's progress, highest")),
        Column("difference", gettext_lazy("judge − people")),
        Column("people_at_end", gettext_lazy("people's progress, at the end")),
        Column("judge_at_end", gettext_lazy("the judge's progress, at the end")),
        Column("cost", gettext_lazy("dollars for judging")),
    ]
    rows: list[Sequence[Value]] = [
        [
            pair.ticked.position,
            str(pair.ticked.run),
            pair.ticked.task_name,
            pair.ticked.site,
            pair.ticked.people.maximum,
            json.dumps(pair.ticked.people.voices),
            pair.judge.maximum,
            pair.gap,
            pair.ticked.people.final,
            pair.judge.final,
            None if pair.cost is None else float(pair.cost),
        ]
        for pair in _pairs(page.against)
    ]
    return _table(page, "runs", columns, rows)


def milestones_table(page: PeoplePage) -> Table:
    """One row a milestone."""
    columns = [
        Column("task", gettext_lazy("task")),
        Column("milestone", gettext_lazy("milestone")),
        *with_ends(
            [
                ("precision", gettext_lazy("precision")),
                ("recall", gettext_lazy("recall")),
                ("agreement", gettext_lazy("agreement")),
            ]
        ),
        Column("both", gettext_lazy("both say it was reached")),
        Column("judge", gettext_lazy("the judge says so alone")),
        Column("people", gettext_lazy("people say so alone")),
        Column("neither", gettext_lazy("neither says so")),
        Column("divided", gettext_lazy("people are divided")),
    ]
    rows = [_milestone(each) for each in milestone_figures(_pairs(page.against))]
    return _table(page, "milestones", columns, rows)


TABLES: Mapping[str, Callable[[PeoplePage], Table]] = {
    "figures": figures_table,
    "milestones": milestones_table,
    "runs": runs_table,
}
"""By the name in their address."""
TABLE_NAMES: Mapping[str, Promise] = {
    "figures": gettext_lazy("Progress by the judge and by people"),
    "milestones": gettext_lazy("Milestones by the judge and by people"),
    "runs": gettext_lazy("Runs with both rates"),
}


def _pairs(against: Against | None) -> Sequence[Pair]:
    return against.pairs if against else []


def _table(
    page: PeoplePage, name: str, columns: Sequence[Column], rows: Sequence[Sequence[Value]]
) -> Table:
    judge = str(page.against.evaluator) if page.against else _("nobody")
    title = _("%(study)s: %(about)s") % {
        "study": page.people.study.name,
        "about": TABLE_NAMES[name],
    }
    notes = [
        _("Judge: %(judge)s. %(rule)s") % {"judge": judge, "rule": page.rule},
        _("Tolerance: %(n)s points. Rates lie between 0 and 1.") % {"n": page.chosen.tolerance},
        _("Of two people neither comes first: r is the intraclass correlation, with no bias."),
    ]
    return Table(name=f"progress-{name}", title=title, columns=columns, rows=rows, notes=notes)


def _figures(row: Row) -> list[Value]:
    found = row.found
    r, gaps = found.correlation.r, found.differences
    return [
        row.name,
        gaps.pairs,
        number(r),
        *ends(found.correlation.interval),
        why(r),
        *value_and_ends(found.agreement),
        number(gaps.bias),
        *ends(gaps.bias_interval),
        *ends(found.by_task.interval),
        number(gaps.mean_absolute_error),
        number(gaps.lower_limit),
        number(gaps.upper_limit),
    ]


def _milestone(each: MilestoneFigures) -> list[Value]:
    match = each.match
    return [
        each.task_name,
        each.name,
        *value_and_ends(match.precision),
        *value_and_ends(match.recall),
        *value_and_ends(match.agreement),
        *(len(each.items.get(cell, ())) for cell in _CELLS),
    ]
