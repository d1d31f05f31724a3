"""Reports on what configurations achieve: accuracy, groups, trials, pairs, controls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.controls import CONTROLS, controls_of
from judging.analysis.experiments.facts import ANY_DECIDED, Facts
from judging.analysis.experiments.figures import Amount, Configuration
from judging.analysis.experiments.groups import GROUPINGS, groups_of
from judging.analysis.experiments.pairs import By, Pairing, pair_all
from judging.analysis.experiments.pairs import Cell as PairCell
from judging.analysis.experiments.population import LEFT_OUT_BY_CONFIGURATION, RunResult
from judging.analysis.experiments.selection import runs_url
from judging.analysis.experiments.sources import Source
from judging.analysis.experiments.trials import selector_words, trials_of
from judging.analysis.reports.columns import (
    SHARE_NAMES,
    ends,
    figure,
    in_files,
    number,
    on_pages,
    share,
    text,
)
from judging.analysis.reports.report import Cell, Column, FileColumn, Layout, Report, Words
from judging.analysis.reports.showing import Shown, decimals, percent, percent_ends, rate, show
from judging.analysis.wording import p_words
from judging.statistics.figures import Share, Undefined
from runs.interface.words import duration, money

CONFIGURATION = text("configuration", _("configuration"))


def configurations(facts: Facts) -> Report:
    """One row a configuration: accuracy with both standard errors, and what its runs took."""
    columns = [
        CONFIGURATION,
        in_files("agent", _("agent")),
        in_files("version", _("version")),
        in_files("model", _("model")),
        share(_("accuracy")),
        figure(
            "se_naive",
            _("SE, runs independent"),
            _("SE, naive"),
            show=lambda value: Shown("" if isinstance(value, Undefined) else f"± {percent(value)}"),
        ),
        Column(
            "se_by_task",
            _("SE, by task"),
            parts=(
                FileColumn("se_by_task", _("SE, clustered by task")),
                FileColumn("low_by_task", _("lower end, 95 %, by task")),
                FileColumn("high_by_task", _("upper end, 95 %, by task")),
            ),
            spread=lambda each: (number(each.clustered.standard_error), *ends(each.by_task)),
            show=_by_task,
        ),
        on_pages("n"),
        Column("tasks", _("tasks")),
        in_files("failures", _("failures")),
        Column("no_verdict", _("no verdict")),
        *(
            Column(f"left_out_{why}", words, None if facts.figures.standings[why] else "")
            for why, words in LEFT_OUT_BY_CONFIGURATION.items()
        ),
        _amount(
            _("time"),
            ("mean_seconds", _("seconds per run")),
            ("total_seconds", _("seconds in all")),
            ("timed", _("runs with a known time")),
            lambda amount: Shown(duration(amount.mean)),
        ),
        in_files("wall_seconds", _("seconds from first start to last end")),
        _amount(
            _("cost"),
            ("mean_cost", _("dollars per run")),
            ("total_cost", _("dollars in all")),
            ("priced", _("runs with a known cost")),
            lambda amount: Shown(money(amount.mean)),
        ),
        in_files("spent", _("dollars with errors and earlier attempts")),
        Column("mean_steps", _("steps per run"), _("steps"), show=decimals(1)),
    ]
    return Report(
        columns=columns,
        rows=[_configuration(facts, each) for each in facts.configurations],
        notes=[
            gettext("Times and costs are of the runs of which they are known; unknown is not zero.")
        ],
        remarks=[
            _(
                "Accuracy is over the runs with a verdict. The naive standard error is "
                "√(p(1 − p)/n), as if runs were independent; the one by task knows that trials of "
                "one task are alike. Where tasks have several trials, its interval stands below "
                "it, and is the one to trust where it is wider than Wilson's. Time, cost and steps "
                "are means over all runs that count; unknown is not zero. Errors, runs that were "
                "broken off and infeasible tasks are no failures and count nowhere."
            )
        ],
    )


def _configuration(facts: Facts, each: Configuration) -> list[Any]:
    def runs(result: RunResult) -> Cell:
        return facts.cell(each.standings.get(result, 0), each, standing=result)

    accuracy = facts.cell(each.accuracy, each, standing=RunResult.SUCCESS)
    return [
        each.name,
        each.agent.name,
        each.agent.version,
        each.agent.model,
        accuracy,
        each.naive.standard_error,
        each,
        facts.cell(each.decided, each, note=f"{each.successes} + {each.failures}"),
        each.tasks,
        each.failures,
        runs(RunResult.NONE),
        *(runs(why) for why in LEFT_OUT_BY_CONFIGURATION),
        Cell(each.seconds, note=_time_note(each)),
        each.wall_seconds,
        Cell(each.cost, note=_cost_note(each)),
        each.spent.known_total,
        each.steps.mean,
    ]


def _by_task(each: Configuration) -> Shown:
    error = each.clustered.standard_error
    if isinstance(error, Undefined):
        return show(error)
    return Shown(f"± {percent(error)}", percent_ends(each.by_task))


def _amount(
    heading: Words,
    mean: tuple[str, Words],
    total: tuple[str, Words],
    known: tuple[str, Words],
    show: Callable[[Amount], Shown],
) -> Column:
    parts = [FileColumn(*mean), FileColumn(*total), FileColumn(*known)]
    return Column(
        mean[0],
        heading,
        parts=parts,
        spread=lambda amount: (amount.mean, amount.known_total, amount.known),
        show=show,
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
            figure("se_by_task", _("SE, clustered by task"), ""),
        ],
        rows=rows,
        page_rows=page_rows,
        empty="" if page_rows else gettext("All tasks are of one site, template, level and kind."),
        layout=Layout(split="grouping", pivot="configuration", most=20),
    )


def trials(facts: Facts) -> Report:
    """One row a configuration and k."""
    selector = facts.query.selector
    found = trials_of(facts.figures, facts.scope, selector)
    best = None if selector else ""
    return Report(
        columns=[
            CONFIGURATION,
            Column("k", "k"),
            figure("pass_at_k", "pass@k", show=rate),
            figure("pass_hat_k", "pass^k", show=rate),
            figure("best_of_k", _("best of k"), best, show=rate),
            Column("tasks", _("tasks with k trials or more")),
            Column("left_out", _("tasks with fewer")),
        ],
        rows=[
            [
                each.configuration.name,
                row.k,
                row.pass_at.value,
                row.pass_hat.value,
                row.best.value if row.best else None,
                row.pass_at.tasks,
                row.pass_at.left_out,
            ]
            for each in found
            for row in each.rows
        ],
        notes=[selector_words(selector, found)],
        remarks=[
            _(
                "pass@k = 1 − C(n − c, k)/C(n, k), pass^k = C(c, k)/C(n, k) for c successes in n "
                "trials of a task, averaged over the tasks with k trials or more. With a picker "
                "who knows the truth the best of k is pass@k."
            )
        ],
    )


def compare_url(facts: Facts, first: Configuration, second: Configuration, by: By) -> str:
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


def pairs(facts: Facts) -> Report:
    """One row for every two configurations: what each solves that the other does not."""
    by_pk = {each.pk: each for each in facts.configurations}
    found = pair_all(facts.scope, list(by_pk), facts.source, facts.query.by)
    return Report(
        columns=[
            text("first", _("first")),
            text("second", _("second")),
            in_files("paired_by", _("paired by task and")),
            Column("both", _("both succeed")),
            Column("only_first", _("only the first succeeds")),
            Column("only_second", _("only the second succeeds")),
            Column("neither", _("neither succeeds")),
            Column("no_verdict", _("no verdict on one or both")),
            Column("unpaired_first", _("unpaired runs of the first"), _("unpaired, first")),
            Column("unpaired_second", _("unpaired runs of the second"), _("unpaired, second")),
            figure("union", _("at least one succeeds"), show=rate),
            Column("p_value", _("McNemar, exact"), show=lambda p: Shown(p_words(p))),
        ],
        rows=[
            _pair(facts, by_pk[first], by_pk[second], pairing) for first, second, pairing in found
        ],
    )


def _pair(facts: Facts, first: Configuration, second: Configuration, pairing: Pairing) -> list[Any]:
    counts, address = pairing.counts, compare_url(facts, first, second, pairing.by)
    return [
        first.name,
        second.name,
        pairing.by.value,
        *(Cell(counts[cell], f"{address}&cell={cell}#pairs") for cell in PairCell),
        len(pairing.only_in_first),
        len(pairing.only_in_second),
        pairing.union.value,
        pairing.test.tested_p,
    ]


def controls(facts: Facts) -> Report:
    """One row an evaluator and control agent: what it lets through."""
    found = controls_of(facts.scope)
    return Report(
        columns=[
            text("verdicts_of", _("verdicts of")),
            text("control", _("control"), show=lambda key: Shown(str(CONTROLS[key]))),
            share(keys=("passed", "n", "value", "low", "high"), names=_PASSED),
            in_files("no_verdict", _("no verdict")),
            on_pages(_("all controls"), per_row=True),
        ],
        rows=[
            [
                each.source.name,
                name,
                Cell(passed, _passed_url(facts, each.source, name, passed), _undecided(n)),
                n,
                each.all,
            ]
            for each in found.sources
            for name, passed in each.passed.items()
            for n in [each.undecided[name]]
        ],
        remarks=[
            _(
                "What passes here passes for nothing done: read the success rates of other agents "
                "against it."
            )
        ],
        empty=""
        if found.runs
        else _(
            "None of the control agents has run here. They do nothing, answer “N/A”, or list all "
            "that the page says; a success of theirs is a fault of the evaluator or the task."
        ),
        layout=Layout(pivot="control"),
    )


_PASSED = (_("passed"), *SHARE_NAMES[1:])


def _undecided(n: int) -> str:
    return gettext("%(n)s no verdict") % {"n": n} if n else ""


def _passed_url(facts: Facts, source: Source, control: str, passed: Share) -> str:
    standing = RunResult.SUCCESS if passed.count else ANY_DECIDED
    return runs_url(facts.experiment, source, control=control, standing=standing)
