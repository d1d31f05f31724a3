"""The reports on what hints changed: cells, tasks, and the trials behind them."""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.facts import Facts
from judging.analysis.hint_effects.pictures import (
    LEVELS,
    RELATEDNESSES,
    cell_url,
    difference_words,
    ends_words,
    standing_words,
    undecided_words,
)
from judging.analysis.hint_effects.reading import Cell as HintCell
from judging.analysis.hint_effects.reading import TaskEffect
from judging.analysis.reports.registry import Entry, Registry
from judging.analysis.reports.report import Cell, Column, Report, Value, in_files, parted, text
from judging.analysis.reports.showing import Shown, show
from judging.statistics.comparison import Difference
from runs.launching.experiments.hint_plans import Condition
from runs.models import Task
from webagent.knowledge.entries import Level, Relatedness
from webagent.knowledge.relevance import Ties

BASELINE = "none"
"""Level and relatedness of trials without hints."""
_CONDITION = (
    text("level", _("hints"), show=lambda level: Shown(str(LEVELS[Level(level)]))),
    text(
        "relatedness",
        _("source"),
        show=lambda each: Shown(", ".join(map(str, RELATEDNESSES[Relatedness(each)]))),
    ),
)
_TASK = (Column("task_set", _("task set")), Column("task", _("task")), Column("site", _("site")))


def _show_difference(found: Difference) -> Shown:
    return Shown(difference_words(found), ends_words(found))


def _signed(sign: str) -> Any:
    return lambda n: Shown(f"{sign}{show(n).text}" if n else "0")


def cells(facts: Facts) -> Report:
    """One row a condition: the figures of all heat maps."""
    return _report(
        facts,
        [
            *_CONDITION,
            Column("tasks", _("n, tasks")),
            Column("left_out", _("left out")),
            in_files("undecided"),
            parted(("difference", "low", "high"), _("success rate, points"), show=_show_difference),
            parted(
                ("best", "best_low", "best_high"), _("best trial, points"), show=_show_difference
            ),
            Column("improvements", _("won"), show=_signed("+")),
            in_files("improved"),
            Column("deteriorations", _("lost"), show=_signed("−")),
            in_files("worsened"),
            Column("drawn", _("drawn by lot")),
            in_files("sources"),
        ],
        [
            _cell(cell_url(facts.hints, condition), condition, cell, facts.hints.ties[condition])
            for condition, cell in facts.hints.cells.items()
        ],
    )


def _cell(url: str, condition: Condition, cell: HintCell, ties: Ties) -> list[Any]:
    words = [f"{n} {why}" for n, why in undecided_words(cell.undecided)]
    return [
        Cell(condition.level, url),
        condition.relatedness,
        cell.n,
        Cell(len(cell.left_out), f"{url}#left-out", ", ".join(words)),
        "; ".join(f"{n} {standing_words(why)}" for why, n in cell.undecided.items()) or None,
        cell.difference,
        cell.best,
        Cell(cell.improvements, note=_tasks(cell.improved)),
        cell.improved,
        Cell(cell.deteriorations, note=_tasks(cell.worsened)),
        cell.worsened,
        Cell(ties.drawn, note=gettext("of %(n)s") % {"n": ties.n}),
        ties.n,
    ]


def _tasks(n: int) -> str:
    return ngettext("%(n)s task", "%(n)s tasks", n) % {"n": n}


def tasks(facts: Facts) -> Report:
    """One row a task and condition: successes on either side, and the hint's source."""
    columns = [
        *_CONDITION,
        *_TASK,
        Column("trials", _("trials planned")),
        Column("without", _("successes without hints")),
        Column("hinted", _("successes with hints")),
        Column("gained", _("difference")),
        Column("undecided", _("trials without a verdict")),
    ]
    rows = [
        [*_condition(condition), *_task(facts.hints.tasks[effect.task]), *_effect(effect)]
        for condition, cell in facts.hints.cells.items()
        for effect in cell.tasks
    ]
    return _report(facts, columns, rows)


def trials(facts: Facts) -> Report:
    """One row a trial: what everything else is counted from."""
    effects = facts.hints
    columns = [
        *_CONDITION,
        *_TASK,
        Column("trial", _("trial")),
        Column("seed", _("seed")),
        Column("standing", _("stands as")),
        Column("run", _("run")),
    ]
    of_agent: dict[int, Condition | None] = {
        agent.pk: condition for condition, agent in effects.agents.items()
    }
    if effects.baseline is not None:
        of_agent[effects.baseline.pk] = None
    rows = [
        [
            *_condition(of_agent[run.agent]),
            *_task(effects.tasks[run.task]),
            run.trial,
            run.seed,
            run.standing.value,
            str(run.run),
        ]
        for of_task in effects.runs.values()
        for run in of_task.values()
    ]
    return _report(facts, columns, rows)


# Tasks and trials tell verdicts of single runs, or of the few of a task.
HINTS: Registry[Facts] = Registry(
    {
        "hint-cells": Entry(_("Effects of hints, by condition"), cells),
        "hint-tasks": Entry(_("Effects of hints, by task"), tasks, lists_runs=True),
        "hint-trials": Entry(_("Trials of the experiment of hints"), trials, lists_runs=True),
    }
)


def _report(facts: Facts, columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> Report:
    return Report(
        columns=columns,
        rows=rows,
        notes=[
            gettext(
                "A task counts once every planned trial (%(n)d) has a verdict, with hints and "
                "without. Intervals are Student's, over tasks."
            )
            % {"n": facts.hints.planned},
            gettext("A hint from the same task tells its solution: an upper bound."),
        ],
    )


def _condition(condition: Condition | None) -> tuple[str, str]:
    return (condition.level, condition.relatedness) if condition else (BASELINE, BASELINE)


def _task(task: Task) -> tuple[str, str, str]:
    return str(task.task_set), task.external_id, task.site


def _effect(effect: TaskEffect) -> tuple[Value, ...]:
    undecided = sum(effect.undecided.values())
    gained = None if undecided else effect.gained
    return effect.planned, effect.without.successes, effect.hinted.successes, gained, undecided
