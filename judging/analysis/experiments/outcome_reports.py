"""Reports on what configurations achieve: accuracy, groups, trials, pairs, controls."""

from __future__ import annotations

from collections.abc import Callable

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.figures import Amount, Configuration
from judging.analysis.experiments.groups import GROUPINGS, groups_of
from judging.analysis.experiments.population import LEFT_OUT_BY_CONFIGURATION, RunResult
from judging.analysis.reports.columns import (
    CONFIGURATION,
    ends,
    figure,
    in_files,
    number,
    on_pages,
    parted,
    share,
    text,
)
from judging.analysis.reports.report import Cell, Column, Field, Layout, Report, Words, report_of
from judging.analysis.reports.showing import Shown, decimals, percent, percent_ends, show
from judging.statistics.figures import Figure, Undefined
from runs.interface.words import duration, money


def configurations(facts: Facts) -> Report:
    """One row a configuration: accuracy with both standard errors, and what its runs took."""

    def runs(result: RunResult) -> Callable[[Configuration], Cell]:
        return lambda each: facts.cell(each.standings.get(result, 0), each, standing=result)

    def accuracy(each: Configuration) -> Cell:
        return facts.cell(each.accuracy, each, standing=RunResult.SUCCESS)

    def decided(each: Configuration) -> Cell:
        return facts.cell(each.decided, each, note=f"{each.successes} + {each.failures}")

    def left_out(why: RunResult, words: Words) -> Field:
        shown = words if facts.figures.standings[why] else ""
        return Column(f"left_out_{why}", shown), runs(why)

    by_task = parted(
        ("se_by_task", "low_by_task", "high_by_task"),
        _("SE, by task"),
        spread=lambda each: (number(each.clustered.standard_error), *ends(each.by_task)),
        show=_by_task,
    )
    time = _amount(_("time"), duration, "mean_seconds", "total_seconds", "timed")
    cost = _amount(_("cost"), money, "mean_cost", "total_cost", "priced")
    return report_of(
        facts.configurations,
        [
            (CONFIGURATION, lambda each: each.name),
            (in_files("agent"), lambda each: each.agent.name),
            (in_files("version"), lambda each: each.agent.version),
            (in_files("model"), lambda each: each.agent.model),
            (share(_("accuracy")), accuracy),
            (
                figure("se_naive", _("SE, naive"), show=_plus_minus),
                lambda each: each.naive.standard_error,
            ),
            (by_task, lambda each: each),
            (on_pages("n"), decided),
            (Column("tasks", _("tasks")), lambda each: each.tasks),
            (in_files("failures"), lambda each: each.failures),
            (Column("no_verdict", _("no verdict")), runs(RunResult.NONE)),
            *(left_out(*each) for each in LEFT_OUT_BY_CONFIGURATION.items()),
            (time, lambda each: Cell(each.seconds, note=_time_note(each))),
            (in_files("wall_seconds"), lambda each: each.wall_seconds),
            (cost, lambda each: Cell(each.cost, note=_cost_note(each))),
            (in_files("spent"), lambda each: each.spent.known_total),
            (Column("mean_steps", _("steps"), show=decimals(1)), lambda each: each.steps.mean),
        ],
        notes=[
            gettext("Times and costs are of the runs of which they are known; unknown is not zero.")
        ],
        remarks=[
            _(
                "Accuracy: of the runs with a verdict. SE, naive: √(p(1 − p)/n), as if runs "
                "were independent. SE, by task: trials of a task taken together; trust its "
                "interval where it is wider than Wilson's. Time, cost and steps: means over "
                "the runs that count and of which they are known. Errors, runs broken off and "
                "infeasible tasks count nowhere."
            )
        ],
    )


def _plus_minus(error: Figure) -> Shown:
    return Shown("" if isinstance(error, Undefined) else f"± {percent(error)}")


def _by_task(each: Configuration) -> Shown:
    error = each.clustered.standard_error
    if isinstance(error, Undefined):
        return show(error)
    return Shown(f"± {percent(error)}", percent_ends(each.by_task))


def _amount(heading: Words, words: Callable[[float | None], str], *parts: str) -> Column:
    """What runs took: the mean, the total, and of how many runs it is known."""
    return parted(
        parts,
        heading,
        spread=lambda amount: (amount.mean, amount.known_total, amount.known),
        show=lambda amount: Shown(words(amount.mean)),
    )


def _known_of(amount: Amount) -> str:
    if amount.known == amount.runs:
        return ""
    numbers = {"n": amount.known, "total": amount.runs}
    return gettext("known of %(n)s of %(total)s") % numbers


def _time_note(each: Configuration) -> str:
    if each.seconds.known < each.seconds.runs or each.wall_seconds is None:
        return _known_of(each.seconds)
    return gettext("%(t)s from first to last") % {"t": duration(each.wall_seconds)}


def _cost_note(each: Configuration) -> str:
    if not each.cost.known:
        return gettext("unknown") if each.agent.model else gettext("no model named")
    total = gettext("%(t)s in all") % {"t": money(each.cost.known_total)}
    return ", ".join(filter(None, [total, _known_of(each.cost)]))


def groups(facts: Facts) -> Report:
    """One row a configuration in a site, template, level or kind of evaluation."""
    rows, page_rows = [], []
    for by in GROUPINGS:
        found = groups_of(facts.figures, by, facts.tasks)
        for group in found:
            for each, its_share, mean in zip(
                facts.configurations, group.shares, group.rates, strict=True
            ):
                cell = facts.cell(its_share, each, **{by: group.name})
                row = [by, group.name, group.tasks, each.name, cell, mean.standard_error]
                rows.append(row)
                page_rows += [row] if len(found) > 1 else []
    return Report(
        columns=[
            text("grouping", _("grouping"), show=lambda by: Shown(str(GROUPINGS[by]))),
            text("group", _("group")),
            on_pages(_("tasks"), per_row=True),
            CONFIGURATION,
            share(),
            figure("se_by_task", ""),
        ],
        rows=rows,
        page_rows=page_rows,
        empty="" if page_rows else gettext("All tasks are of one site, template, level and kind."),
        layout=Layout(split="grouping", pivot="configuration", most=20),
    )
