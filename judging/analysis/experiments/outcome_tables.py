"""What configurations achieve, as tables to take away."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.experiments.controls import controls_of
from judging.analysis.experiments.figures import Amount, Figures
from judging.analysis.experiments.groups import GROUPINGS, groups_of, placed_tasks
from judging.analysis.experiments.lengths import lengths_of
from judging.analysis.experiments.pairs import Cell, pair_all
from judging.analysis.experiments.population import TOLD_LEFT_OUT
from judging.analysis.experiments.report_query import ReportQuery
from judging.analysis.experiments.table_parts import CONFIGURATION, SHARE, titled
from judging.analysis.experiments.trials import selector_words, trials_of
from judging.analysis.reports import Column, Table, Value
from judging.analysis.table_values import counted, ends, number


def configurations_table(asked: ReportQuery) -> Table:
    """One row a configuration: accuracy with both standard errors, and what its runs took."""
    columns = [
        CONFIGURATION,
        Column("agent", gettext_lazy("agent")),
        Column("version", gettext_lazy("version")),
        Column("model", gettext_lazy("model")),
        *SHARE,
        Column("se_naive", gettext_lazy("SE, runs independent")),
        Column("se_by_task", gettext_lazy("SE, clustered by task")),
        Column("low_by_task", gettext_lazy("lower end, 95 %, by task")),
        Column("high_by_task", gettext_lazy("upper end, 95 %, by task")),
        Column("tasks", gettext_lazy("tasks")),
        Column("failures", gettext_lazy("failures")),
        Column("no_verdict", gettext_lazy("no verdict")),
        *(Column(f"left_out_{standing}", words) for standing, words in TOLD_LEFT_OUT.items()),
        Column("mean_seconds", gettext_lazy("seconds per run")),
        Column("total_seconds", gettext_lazy("seconds in all")),
        Column("timed", gettext_lazy("runs with a known time")),
        Column("wall_seconds", gettext_lazy("seconds from first start to last end")),
        Column("mean_cost", gettext_lazy("dollars per run")),
        Column("total_cost", gettext_lazy("dollars in all")),
        Column("priced", gettext_lazy("runs with a known cost")),
        Column("spent", gettext_lazy("dollars with errors and earlier attempts")),
        Column("mean_steps", gettext_lazy("steps per run")),
    ]
    rows = [_configuration(each) for each in asked.figures.configurations]
    return titled(asked, "configurations", columns, rows, [_unknown_note()])


def groups_table(asked: ReportQuery) -> Table:
    """One row a configuration in a site, template, level or kind of evaluation."""
    columns = [
        Column("grouping", gettext_lazy("grouping")),
        Column("group", gettext_lazy("group")),
        CONFIGURATION,
        *SHARE,
        Column("se_by_task", gettext_lazy("SE, clustered by task")),
    ]
    tasks = placed_tasks(asked.figures)
    rows: list[Sequence[Value]] = [
        [by, group.name, each.name, *counted(share), number(rate.standard_error)]
        for by in GROUPINGS
        for group in groups_of(asked.figures, by, tasks)
        for each, share, rate in zip(
            asked.figures.configurations, group.shares, group.rates, strict=True
        )
    ]
    return titled(asked, "groups", columns, rows)


def trials_table(asked: ReportQuery) -> Table:
    """One row a configuration and k."""
    columns = [
        CONFIGURATION,
        Column("k", "k"),
        Column("pass_at_k", "pass@k"),
        Column("pass_hat_k", "pass^k"),
        Column("best_of_k", gettext_lazy("best of k")),
        Column("tasks", gettext_lazy("tasks with k trials or more")),
        Column("left_out", gettext_lazy("tasks with fewer")),
    ]
    trials = trials_of(asked.figures, asked.scope, asked.selector)
    rows: list[Sequence[Value]] = [
        [
            found.configuration.name,
            row.k,
            number(row.pass_at.value),
            number(row.pass_hat.value),
            number(row.best.value) if row.best else None,
            row.pass_at.tasks,
            row.pass_at.left_out,
        ]
        for found in trials
        for row in found.rows
    ]
    return titled(asked, "trials", columns, rows, [selector_words(asked.selector, trials)])


def lengths_table(asked: ReportQuery) -> Table:
    """One row a configuration and range of steps."""
    columns = [
        CONFIGURATION,
        Column("first_step", gettext_lazy("steps from")),
        Column("last_step", gettext_lazy("steps to")),
        *SHARE,
        Column("solved_within", gettext_lazy("share solved with so many steps or fewer")),
    ]
    rows: list[Sequence[Value]] = [
        [
            found.configuration.name,
            each.first,
            each.last,
            *counted(each.share),
            number(each.within.value),
        ]
        for found in lengths_of(asked.figures, asked.scope)
        for each in found.bins
    ]
    return titled(asked, "lengths", columns, rows)


def pairs_table(asked: ReportQuery) -> Table:
    """One row for every two configurations: what each solves that the other does not."""
    columns = [
        Column("first", gettext_lazy("first")),
        Column("second", gettext_lazy("second")),
        Column("paired_by", gettext_lazy("paired by task and")),
        Column("both", gettext_lazy("both succeed")),
        Column("only_first", gettext_lazy("only the first succeeds")),
        Column("only_second", gettext_lazy("only the second succeeds")),
        Column("neither", gettext_lazy("neither succeeds")),
        Column("no_verdict", gettext_lazy("no verdict on one or both")),
        Column("unpaired_first", gettext_lazy("unpaired runs of the first")),
        Column("unpaired_second", gettext_lazy("unpaired runs of the second")),
        Column("union", gettext_lazy("at least one succeeds")),
        Column("p_value", gettext_lazy("McNemar, exact")),
    ]
    names = {each.agent.pk: each.name for each in asked.figures.configurations}
    rows: list[Sequence[Value]] = []
    for first, second, pairing in pair_all(asked.scope, list(names), asked.source, asked.by):
        counts = pairing.counts
        rows.append(
            [
                names[first],
                names[second],
                pairing.by.value,
                *(counts[cell] for cell in Cell),
                len(pairing.only_in_first),
                len(pairing.only_in_second),
                number(pairing.union.value),
                pairing.test.told,
            ]
        )
    return titled(asked, "pairs", columns, rows)


def controls_table(asked: ReportQuery) -> Table:
    """One row an evaluator and control agent: what it lets through."""
    columns = [
        Column("verdicts_of", gettext_lazy("verdicts of")),
        Column("control", gettext_lazy("control")),
        Column("passed", gettext_lazy("passed")),
        *SHARE[1:],
        Column("no_verdict", gettext_lazy("no verdict")),
    ]
    rows: list[Sequence[Value]] = [
        [found.source.name, name, *counted(share), found.undecided[name]]
        for found in controls_of(asked.scope).sources
        for name, share in found.passed.items()
    ]
    return titled(asked, "controls", columns, rows)


def _configuration(each: Figures) -> list[Value]:
    return [
        each.name,
        each.agent.name,
        each.agent.version,
        each.agent.model,
        *counted(each.accuracy),
        number(each.naive.standard_error),
        number(each.clustered.standard_error),
        *ends(each.by_task),
        each.tasks,
        each.failures,
        each.undecided,
        *(each.standings.get(standing, 0) for standing in TOLD_LEFT_OUT),
        each.seconds.mean,
        _total(each.seconds),
        each.seconds.known,
        each.wall_seconds,
        each.cost.mean,
        _total(each.cost),
        each.cost.known,
        _total(each.spent),
        each.steps.mean,
    ]


def _unknown_note() -> str:
    return _("Times and costs are of the runs of which they are known; unknown is not zero.")


def _total(amount: Amount) -> float | None:
    return float(amount.total) if amount.known and amount.total is not None else None
