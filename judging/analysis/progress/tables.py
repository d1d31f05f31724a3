"""The tables of an experiment's progress that can be taken away."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.experiments.table_parts import CONFIGURATION
from judging.analysis.progress.difficulty import part_of
from judging.analysis.progress.figures import (
    Progressed,
    at_limits,
    curve_of,
    parts_of,
    progressed,
    rate_interval,
    score_of,
    stops_of,
)
from judging.analysis.progress.report_query import ProgressAsked
from judging.analysis.progress.rows import RunRow
from judging.analysis.progress.told import SILENCES
from judging.analysis.reports import Column, Table, Value
from judging.analysis.table_values import ends, number, value_and_ends, with_ends
from judging.statistics.success import Mean

_FIGURES = (
    ("success", gettext_lazy("success rate")),
    ("progress", gettext_lazy("mean progress, highest")),
    ("progress_at_end", gettext_lazy("mean progress, at the end")),
    ("hidden", gettext_lazy("hidden progress: progress − success")),
    ("of_failures", gettext_lazy("mean progress of failures")),
)
_PROGRESSED = [
    Column("runs", gettext_lazy("runs that count")),
    Column("n", gettext_lazy("n, runs with progress and verdict")),
    *with_ends(_FIGURES),
    Column("failures", gettext_lazy("failures with progress")),
    Column("no_verdict", gettext_lazy("progress, but no verdict")),
    Column("partial", gettext_lazy("n with some milestones unchecked")),
    *(Column(f"no_progress_{key.replace('-', '_')}", words) for key, words in SILENCES.items()),
]


def configurations_table(asked: ProgressAsked) -> Table:
    """One row a configuration, over all task sets."""
    rows: list[Sequence[Value]] = [
        [each.name, *_progressed(progressed(asked.rows_of(each)))] for each in asked.configurations
    ]
    return _table(asked, "configurations", [CONFIGURATION, *_PROGRESSED], rows)


def task_sets_table(asked: ProgressAsked) -> Table:
    """One row a configuration and task set."""
    column = Column("task_set", gettext_lazy("task set"))
    rows = _by_part(asked, lambda row: row.task_set_name)
    return _table(asked, "task-sets", [CONFIGURATION, column, *_PROGRESSED], rows)


def difficulty_table(asked: ProgressAsked) -> Table:
    """One row a configuration and part."""
    column = Column("part", gettext_lazy("part"))
    rows = _by_part(asked, lambda row: part_of(asked.split, row, asked.tasks))
    columns = [CONFIGURATION, column, *_PROGRESSED]
    return _table(asked, "difficulty", columns, rows, [asked.split.rule])


def _by_part(asked: ProgressAsked, part: Callable[[RunRow], str | None]) -> list[Sequence[Value]]:
    return [
        [each.name, name, *_progressed(progressed(rows))]
        for each in asked.configurations
        for name, rows in parts_of(asked.rows_of(each), part).items()
    ]


def curve_table(asked: ProgressAsked) -> Table:
    """One row a configuration and step."""
    columns = [
        CONFIGURATION,
        Column("step", gettext_lazy("steps taken")),
        Column("progress", gettext_lazy("mean progress, highest so far")),
        Column("progress_held", gettext_lazy("mean progress, held")),
        Column("going", gettext_lazy("runs that took this step")),
    ]
    rows: list[Sequence[Value]] = [
        [each.name, point.step, point.reached, point.held, point.going]
        for each in asked.configurations
        for point in curve_of(asked.rows_of(each))
    ]
    return _table(asked, "curve", columns, rows)


def stops_table(asked: ProgressAsked) -> Table:
    """One row a milestone that runs did not get past, and configuration."""
    columns = [
        Column("task", gettext_lazy("task")),
        Column("milestone", gettext_lazy("first milestone not reached")),
        CONFIGURATION,
        Column("stopped", gettext_lazy("runs that stopped there")),
        Column("of_task", gettext_lazy("runs of the task, by all configurations")),
    ]
    names = {each.agent.pk: each.name for each in asked.configurations}
    rows: list[Sequence[Value]] = [
        [each.task_name, each.stop.name, names[agent], n, each.told]
        for each in stops_of(asked.rows)
        for agent, n in each.runs.items()
    ]
    return _table(asked, "stops", columns, rows)


def limits_table(asked: ProgressAsked) -> Table:
    """One row a configuration and step limit."""
    columns = [
        CONFIGURATION,
        Column("limit", gettext_lazy("step limit")),
        *with_ends(
            [
                ("progress", gettext_lazy("mean progress, highest")),
                ("success", gettext_lazy("success rate")),
            ]
        ),
        Column("steps", gettext_lazy("mean steps used")),
        Column("n", gettext_lazy("n, runs with progress and verdict")),
        Column("cut", gettext_lazy("runs that took more steps")),
        Column("unknown", gettext_lazy("runs that a lower limit of their own ended")),
    ]
    rows: list[Sequence[Value]] = [
        [
            each.name,
            at.limit,
            *_mean(at.reached),
            *value_and_ends(at.success),
            number(at.steps.value),
            at.success.total,
            at.cut,
            at.unknown,
        ]
        for each in asked.configurations
        for at in at_limits(asked.rows_of(each))
    ]
    return _table(asked, "limits", columns, rows)


def scores_table(asked: ProgressAsked) -> Table:
    """One row a configuration and k."""
    columns = [
        CONFIGURATION,
        Column("k", "k"),
        Column("alpha", gettext_lazy("alpha")),
        Column("pass_at_k", "pass@k"),
        Column("of_failures", gettext_lazy("mean progress of failures")),
        Column("failures", gettext_lazy("failures with progress")),
        Column("score", gettext_lazy("adjusted score")),
        Column("low", gettext_lazy("lower end, 95 %, bootstrap by task")),
        Column("high", gettext_lazy("upper end, 95 %, bootstrap by task")),
    ]
    rows: list[Sequence[Value]] = []
    for each in asked.configurations:
        for k in range(1, asked.most_k + 1):
            found = score_of(asked.rows_of(each), k=k, alpha=asked.options.alpha)
            rows.append(
                [
                    each.name,
                    k,
                    found.alpha,
                    number(found.pass_at_k.value),
                    number(found.failure_progress),
                    found.failures,
                    number(found.value),
                    *ends(found.interval),
                ]
            )
    return _table(asked, "scores", columns, rows)


def runs_table(asked: ProgressAsked) -> Table:
    """One row a run that counts: what every other table is computed from."""
    columns = [
        CONFIGURATION,
        Column("run", gettext_lazy("run")),
        Column("task_set", gettext_lazy("task set")),
        Column("task", gettext_lazy("task")),
        Column("success", gettext_lazy("success: 1 or 0, empty without a verdict")),
        Column("progress", gettext_lazy("progress, highest")),
        Column("progress_at_end", gettext_lazy("progress, at the end")),
        Column("by_step", gettext_lazy("progress after each step, as a list")),
        Column("no_progress_because", gettext_lazy("why there is no progress")),
        Column("first_missed", gettext_lazy("first milestone not reached")),
        Column("steps", gettext_lazy("steps")),
        Column("ended_by_limit", gettext_lazy("the step limit that ended it")),
        Column("milestones", gettext_lazy("milestones of the task")),
    ]
    names = {each.agent.pk: each.name for each in asked.configurations}
    rows: list[Sequence[Value]] = [
        [
            names[row.agent],
            str(row.run),
            row.task_set_name,
            row.task_name,
            int(row.is_success) if row.is_decided else None,
            row.told.maximum if row.told else None,
            row.told.final if row.told else None,
            json.dumps(row.told.by_step) if row.told else None,
            row.silence.value if row.silence else None,
            row.stop.name if row.stop else None,
            row.n_steps,
            row.stopped_at,
            row.milestones,
        ]
        for row in asked.rows
    ]
    return _table(asked, "runs", columns, rows)


TABLES: Mapping[str, Callable[[ProgressAsked], Table]] = {
    "configurations": configurations_table,
    "task-sets": task_sets_table,
    "curve": curve_table,
    "stops": stops_table,
    "limits": limits_table,
    "difficulty": difficulty_table,
    "scores": scores_table,
    "runs": runs_table,
}
"""By the name in their address."""
TABLE_NAMES: Mapping[str, Promise] = {
    "configurations": gettext_lazy("Progress beside success"),
    "task-sets": gettext_lazy("The same by task set"),
    "curve": gettext_lazy("Progress by step"),
    "stops": gettext_lazy("Milestones that runs do not get past"),
    "limits": gettext_lazy("Step limits"),
    "difficulty": gettext_lazy("Easy and hard tasks"),
    "scores": gettext_lazy("Adjusted scores"),
    "runs": gettext_lazy("Runs with their progress"),
}


def _table(
    asked: ProgressAsked,
    name: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[Value]],
    notes: Iterable[str] = (),
) -> Table:
    return Table(
        name=f"progress-{name}",
        title=asked.asked.title(str(TABLE_NAMES[name])),
        columns=columns,
        rows=list(rows),
        notes=[asked.asked.note, asked.note, *notes, _("Rates lie between 0 and 1.")],
    )


def _progressed(found: Progressed) -> list[Value]:
    return [
        found.runs,
        found.n,
        *value_and_ends(found.success),
        *_mean(found.reached),
        *_mean(found.held),
        *value_and_ends(found.hidden),
        *_mean(found.failures),
        found.failures.runs,
        found.undecided,
        found.partial,
        *(found.silences.get(key, 0) for key in SILENCES),
    ]


def _mean(mean: Mean) -> list[Value]:
    return [number(mean.value), *ends(rate_interval(mean))]
