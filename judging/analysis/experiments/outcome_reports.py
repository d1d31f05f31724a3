"""Reports on what configurations achieve: accuracy, groups, trials, pairs, controls."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from django.db.models import CharField, OuterRef, Subquery
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.counting import tally
from judging.analysis.experiments.facts import LARGEST_K, Facts
from judging.analysis.experiments.figures import Amount, Configuration, ExperimentFigures
from judging.analysis.experiments.population import DECIDED, LEFT_OUT, RunResult, Source, with_said
from judging.analysis.experiments.selection import FILTERS, GROUPINGS, groups_of
from judging.analysis.reports.report import (
    CONFIGURATION,
    Cell,
    Column,
    Field,
    Layout,
    Report,
    Words,
    ends,
    figure,
    in_files,
    number,
    on_pages,
    parted,
    report_of,
    share,
    text,
)
from judging.analysis.reports.showing import Shown, decimals, estimate, percent, percent_ends, rate
from judging.statistics.figures import Figure, Share, Undefined
from judging.statistics.success import (
    Picked,
    TaskMean,
    mean_best_of_k,
    mean_pass_at_k,
    mean_pass_hat_k,
)
from runs.interface.words import duration, money
from runs.models import Run


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
            *(left_out(*each) for each in LEFT_OUT.items() if each[0] is not RunResult.HIDDEN),
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
    return estimate(error, lambda n: f"± {percent(n)}", percent_ends(each.by_task))


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
            text("grouping", _("grouping"), show=lambda by: Shown(capfirst(str(FILTERS[by].name)))),
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


class AtK(NamedTuple):
    """The figures for one k. `best` is None without a selector."""

    k: int
    pass_at: TaskMean
    pass_hat: TaskMean
    best: TaskMean | None


class TrialFigures(NamedTuple):
    """One configuration for every k that some task has enough trials for."""

    configuration: Configuration
    rows: Sequence[AtK]
    coverage: Share | None
    """Of how many of these runs the selector says anything; None without a selector."""


def trials_of(figures: ExperimentFigures, selector: Source | None) -> list[TrialFigures]:
    """pass@k and pass^k of every configuration; with a selector one query more."""
    by_agent = _picked(figures, selector) if selector else {}
    found = []
    for each in figures.configurations:
        picked, coverage = by_agent.get(each.pk, (None, None))
        trials = list(each.trials.values())
        most = min(max((n for n, _ in trials), default=0), LARGEST_K)
        rows = [
            AtK(
                k,
                mean_pass_at_k(trials, k),
                mean_pass_hat_k(trials, k),
                None if picked is None else mean_best_of_k(picked, k),
            )
            for k in range(1, most + 1)
        ]
        found.append(TrialFigures(each, rows, coverage))
    return found


def _picked(
    figures: ExperimentFigures, selector: Source
) -> dict[int, tuple[Sequence[Picked], Share]]:
    """By configuration: the trials of each task by what both say; in one query.

    The selector's word is looked up for each run by itself: two of the same relation cannot be
    joined under one name.
    """
    said = with_said(Run.objects.order_by(), selector).filter(pk=OuterRef("pk")).values("said")
    decided = figures.scope.standing(figures.source).filter(standing__in=DECIDED)
    chosen = decided.annotate(chosen=Subquery(said[:1], output_field=CharField(null=True)))
    counts: defaultdict[tuple[int, int], Counter[tuple[str | None, str]]] = defaultdict(Counter)
    runs, told = Counter[int](), Counter[int]()
    for (agent, task, word, standing), alike in tally(
        chosen, "agent", "task", "chosen", "standing"
    ).items():
        counts[agent, task][word, standing] += alike
        runs[agent] += alike
        told[agent] += 0 if word is None else alike
    picked: defaultdict[int, list[Picked]] = defaultdict(list)
    won, lost = RunResult.SUCCESS.value, RunResult.FAILURE.value
    for (agent, _task), n in counts.items():
        passed = n[won, won] + n[won, lost]
        picked[agent].append(
            Picked(
                passed=passed,
                passed_successes=n[won, won],
                other=n.total() - passed,
                # A run of which the selector says nothing is none that it passes.
                other_successes=n[lost, won] + n[None, won],
            )
        )
    return {agent: (tasks, Share(told[agent], runs[agent])) for agent, tasks in picked.items()}


def selector_words(selector: Source | None, found: Sequence[TrialFigures]) -> str:
    """Who picks the best of k trials, how, and of how many runs it says nothing."""
    if selector is None:
        return gettext("Choose an evaluator above to pick the best of k.")
    covered = [each.coverage for each in found if each.coverage is not None]
    return gettext(
        "Best of k picks a trial that %(selector)s passes, at random among several or, "
        "if it passes none, among all k. It has a verdict on %(told)s of %(runs)s runs."
    ) % {
        "selector": selector.name,
        "told": sum(each.count for each in covered),
        "runs": sum(each.total for each in covered),
    }


def trials(facts: Facts) -> Report:
    """One row a configuration and k."""
    selector = facts.query.selector
    found = trials_of(facts.figures, selector)
    best = _("best of k") if selector else ""
    return Report(
        columns=[
            CONFIGURATION,
            Column("k", "k"),
            figure("pass_at_k", "pass@k", show=rate),
            figure("pass_hat_k", "pass^k", show=rate),
            figure("best_of_k", best, show=rate),
            Column("tasks", _("tasks with k trials or more")),
            Column("left_out", _("tasks with fewer")),
        ],
        rows=[
            [
                *(each.configuration.name, row.k, row.pass_at.value, row.pass_hat.value),
                *(row.best.value if row.best else None, row.pass_at.tasks, row.pass_at.left_out),
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
