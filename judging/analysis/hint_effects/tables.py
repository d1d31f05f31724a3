"""The figures of an experiment of hints to take away: cells, tasks, and the trials behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.hint_effects.effects import TaskEffect
from judging.analysis.hint_effects.reading import HintEffects
from judging.analysis.hint_effects.words import standing_words
from judging.analysis.reports import Column, Table, Value
from judging.analysis.table_values import value_and_ends
from runs.launching.hint_experiments.plans import Condition
from runs.models import Task

BASELINE = "none"
"""Level and relatedness of trials without hints."""
_CONDITION = [
    Column("level", gettext_lazy("level")),
    Column("relatedness", gettext_lazy("relatedness")),
]
_TASK = [
    Column("task_set", gettext_lazy("task set")),
    Column("task", gettext_lazy("task")),
    Column("site", gettext_lazy("site")),
]
_ENDS = [
    Column("low", gettext_lazy("lower end, 95 %, by task")),
    Column("high", gettext_lazy("upper end, 95 %, by task")),
]


def cells_table(effects: HintEffects) -> Table:
    """One row a cell: the figures of all heat maps."""
    columns = [
        *_CONDITION,
        Column("tasks", gettext_lazy("n, tasks that count")),
        Column("left_out", gettext_lazy("tasks left out")),
        Column("undecided", gettext_lazy("trials without a verdict")),
        Column("difference", gettext_lazy("difference of mean success rates")),
        *_ENDS,
        Column("best", gettext_lazy("difference if the best trial counts")),
        Column("best_low", _ENDS[0].name),
        Column("best_high", _ENDS[1].name),
        Column("improvements", gettext_lazy("successes won")),
        Column("improved", gettext_lazy("tasks that gained")),
        Column("deteriorations", gettext_lazy("successes lost")),
        Column("worsened", gettext_lazy("tasks that lost")),
    ]
    rows: list[Sequence[Value]] = [
        [
            condition.level,
            condition.relatedness,
            cell.n,
            len(cell.left_out),
            "; ".join(f"{n} {standing_words(word)}" for word, n in cell.undecided.items()) or None,
            *value_and_ends(cell.difference),
            *value_and_ends(cell.best),
            cell.improvements,
            cell.improved,
            cell.deteriorations,
            cell.worsened,
        ]
        for condition, cell in effects.cells.items()
    ]
    return _table(effects, "hint-cells", columns, rows)


def tasks_table(effects: HintEffects) -> Table:
    """One row a task and cell: successes on either side, and the hint's source."""
    columns = [
        *_CONDITION,
        *_TASK,
        Column("trials", gettext_lazy("trials planned")),
        Column("without", gettext_lazy("successes without hints")),
        Column("hinted", gettext_lazy("successes with hints")),
        Column("gained", gettext_lazy("difference")),
        Column("undecided", gettext_lazy("trials without a verdict")),
    ]
    rows: list[Sequence[Value]] = [
        [*_condition(condition), *_task(effects.tasks[effect.task]), *_effect(effect)]
        for condition, cell in effects.cells.items()
        for effect in cell.tasks
    ]
    return _table(effects, "hint-tasks", columns, rows)


def trials_table(effects: HintEffects) -> Table:
    """One row a trial: what everything else is counted from."""
    columns = [
        *_CONDITION,
        *_TASK,
        Column("trial", gettext_lazy("trial")),
        Column("seed", gettext_lazy("seed")),
        Column("standing", gettext_lazy("stands as")),
        Column("run", gettext_lazy("run")),
    ]
    of_agent: dict[int, Condition | None] = {
        agent.pk: condition for condition, agent in effects.agents.items()
    }
    if effects.baseline is not None:
        of_agent[effects.baseline.pk] = None
    rows: list[Sequence[Value]] = [
        [
            *_condition(of_agent[run.agent]),
            *_task(effects.tasks[run.task]),
            run.trial,
            run.seed,
            run.standing.value,
            str(run.run),
        ]
        for trials in effects.runs.values()
        for run in trials.values()
    ]
    return _table(effects, "hint-trials", columns, rows)


HINT_TABLES: Mapping[str, Callable[[HintEffects], Table]] = {
    "hint-cells": cells_table,
    "hint-tasks": tasks_table,
    "hint-trials": trials_table,
}
PER_RUN = frozenset({"hint-tasks", "hint-trials"})
"""Tables that tell verdicts of single runs, or of the few of a task."""
HINT_TABLE_NAMES: Mapping[str, Promise] = {
    "hint-cells": gettext_lazy("Effects of hints, by condition"),
    "hint-tasks": gettext_lazy("Effects of hints, by task"),
    "hint-trials": gettext_lazy("Trials of the experiment of hints"),
}


def _table(
    effects: HintEffects, name: str, columns: Sequence[Column], rows: Sequence[Sequence[Value]]
) -> Table:
    asked = effects.asked
    return Table(
        name=name,
        title=asked.title(str(HINT_TABLE_NAMES[name])),
        columns=columns,
        rows=rows,
        notes=[
            asked.note,
            _(
                "A task counts once all %(n)d planned trials have a verdict, with hints and "
                "without. Intervals are Student's, over tasks."
            )
            % {"n": effects.planned},
            _("“same_task” tells the solution: an upper bound, pooled with nothing."),
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
