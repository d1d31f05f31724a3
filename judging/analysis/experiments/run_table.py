"""The runs of an experiment as a table to take away: what all others are counted from."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from judging.analysis.experiments.population import RunResult
from judging.analysis.experiments.report_query import ReportQuery
from judging.analysis.experiments.selection import Selection
from judging.analysis.experiments.table_parts import CONFIGURATION, titled
from judging.analysis.reports import Column, Table, Value

_FIELDS: Sequence[tuple[str, str, Promise]] = (
    ("run", "pk", gettext_lazy("run")),
    ("task_set", "task__task_set__name", gettext_lazy("task set")),
    ("task_set_version", "task__task_set__version", gettext_lazy("version of the task set")),
    ("task", "task__external_id", gettext_lazy("task")),
    ("site", "task__site", gettext_lazy("site")),
    ("template", "task__template", gettext_lazy("template")),
    ("kind", "task__evaluation_kind", gettext_lazy("kind of evaluation")),
    ("agent", "agent__name", gettext_lazy("agent")),
    ("model", "agent__model", gettext_lazy("model")),
    ("seed", "seed", gettext_lazy("seed")),
    ("trial", "trial", gettext_lazy("trial")),
    ("attempt", "attempt", gettext_lazy("attempt")),
    ("standing", "standing", gettext_lazy("stands as")),
    ("verdict", "said", gettext_lazy("verdict")),
    ("outcome", "outcome", gettext_lazy("outcome")),
    ("reward", "reward", gettext_lazy("reward")),
    ("end_reason", "end_reason", gettext_lazy("end reason")),
    ("steps", "n_steps", gettext_lazy("steps")),
    ("seconds", "seconds", gettext_lazy("seconds")),
    ("cost", "cost", gettext_lazy("cost")),
    ("detections", "detections", gettext_lazy("anomalies noticed")),
    ("recoveries", "recoveries", gettext_lazy("recoveries")),
)
"""Key, where it stands in the database, and name."""


def runs_table(asked: ReportQuery, selection: Selection | None = None) -> Table:
    """One row a run that may be known of: what every other table is counted from."""
    chosen = selection or Selection(
        asked.source, {"standing": "-".join(each for each in RunResult if each != RunResult.HIDDEN)}
    )
    columns = [CONFIGURATION, *(Column(key, name) for key, _path, name in _FIELDS)]
    names = {each.agent.pk: each.name for each in asked.figures.configurations}
    rows: list[Sequence[Value]] = []
    ordered = chosen.runs(asked.scope).order_by(
        "task__task_set__name", "task__external_id", "agent", "seed", "trial", "pk"
    )
    for agent, *values in ordered.values_list("agent", *(path for _key, path, _name in _FIELDS)):
        rows.append([names.get(agent, ""), *map(_plain, values)])
    return titled(asked, "runs", columns, rows)


def _plain(value: object) -> Value:
    if isinstance(value, Decimal):
        return float(value)
    return value if value is None or isinstance(value, str | int | float) else str(value)
